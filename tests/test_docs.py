"""What the documents show is true: commands parse, tables are those of the schemas."""

import pkgutil
import re
import shlex
from pathlib import Path

import pytest

from docs import recipes as recipe_tables
from docs.settings import DOCUMENTS as WITH_SETTINGS
from docs.settings import table, updated
from regard import tasks
from regard.cli import app
from regard.recipe_catalogue import catalogue

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def code_lines(text: str) -> str:
    """The lines that are fenced or indented as code."""
    fenced = "".join(re.findall(r"^```.*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    return fenced + "\n".join(line for line in text.split("\n") if line.startswith("    "))


def commands() -> list[str]:
    """Every `regard …` of the documents: in lines of code and between back-ticks."""
    found = []
    for path in DOCUMENTS:
        text = path.read_text("utf-8").replace("\\\n", " ")
        found += re.findall(r"^\s*(?:\$ )?(regard .+)$", code_lines(text), re.MULTILINE)
        # A name alone is a mention.
        found += [each for each in re.findall(r"`(regard [^`…]+)`", text) if " " in each[7:]]
    return sorted({re.sub(r" +", " ", line.split("<")[0].split(" #")[0]) for line in found})


@pytest.mark.parametrize("command", commands())
def test_a_shown_command_is_understood(command: str) -> None:
    words = [word for word in shlex.split(command)[1:] if word not in ("RUN", "[TEXT…]")]
    app.parse_args(words, exit_on_error=False, print_error=False)


def test_a_command_that_is_mentioned_is_there() -> None:
    for path in DOCUMENTS:
        for name in re.findall(r"`regard ([a-z-]+)`", path.read_text("utf-8")):
            assert name in app, f"{path.name}: regard {name}"


def test_a_name_of_python_that_is_mentioned_is_there() -> None:
    for path in DOCUMENTS:
        for name in re.findall(r"`(regard\.[\w.]+)[`(]", path.read_text("utf-8")):
            if name != "regard.json":  # a file
                pkgutil.resolve_name(name)


def test_there_are_commands_to_check() -> None:
    assert len(commands()) > 8


@pytest.mark.parametrize("path", WITH_SETTINGS, ids=lambda path: path.name)
def test_tables_of_settings_are_those_of_the_schemas(path: Path) -> None:
    text = path.read_text("utf-8")
    assert updated(text) == text, "`make format` writes them again"
    assert "| setting | default | meaning |" not in text, "a table that is kept by hand"


def test_a_table_that_is_out_of_date_is_noticed() -> None:
    text = "a\n<!-- settings: translation decode -->\nold\n<!-- end of settings -->\nb\n"
    new = updated(text)
    assert new == text.replace("old\n", table("translation", "decode"))
    assert "| `decode.beam_size` | `5` |" in new
    assert updated(new) == new
    with pytest.raises(SystemExit, match=r"tagging has no setting decode\.beam_size"):
        table("tagging", "decode.beam_size")


def test_the_tables_of_recipes_are_those_of_the_catalogue() -> None:
    text = recipe_tables.DOCUMENT.read_text("utf-8")
    assert recipe_tables.updated(text) == text, "`make format` writes them again"
    assert text.count("| `") == len(catalogue())


@pytest.mark.parametrize("task", tasks.TASKS)
def test_the_page_of_settings_has_every_setting(task: str) -> None:
    shown = (ROOT / "docs" / "settings.md").read_text("utf-8")
    for line in table(task).splitlines()[2:]:
        name = line.split("|")[1].split()[0]
        assert f"| {name} |" in shown or name == "`task`"
