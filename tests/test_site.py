"""The pages as a git host shows them and as the site that `make docs` builds."""

import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from regard.cli import COMMANDS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted({*ROOT.glob("*.md"), *DOCS.glob("*.md"), *DOCS.glob("decisions/*.md")})
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
OF_ANOTHER_HOST = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)="(?:https?:)?//""")


def prose(text: str) -> str:
    """The text without code, in which brackets mean something else."""
    text = re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]+`", lambda code: code[0] if "](" not in code[0] else "", text)


def anchors(path: Path) -> set[str]:
    """The anchors that a git host gives the headings of a page."""
    text = re.sub(r"^(`{3,}).*?^\1", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    seen: Counter[str] = Counter()
    found = set()
    for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def dead_links(path: Path) -> list[str]:
    dead = []
    for link in LINK.findall(prose(path.read_text("utf-8"))):
        if re.match(r"https?://", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    return dead


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_are_there(path: Path) -> None:
    assert dead_links(path) == []


def test_a_dead_link_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# B\n## The `plan`: how\n## Twice\n## Twice\n", "utf-8")
    page = tmp_path / "a.md"
    page.write_text(
        "[1](b.md) [2](b.md#the-plan-how) [3](b.md#twice-1) [4](c.md) [5](b.md#no) ![6](7.png)\n"
        "```\n[no link](x.md)\n```\n`[nor](this)` [8](#here)\n",
        "utf-8",
    )
    assert dead_links(page) == ["c.md", "b.md#no", "7.png", "#here"]


@pytest.mark.parametrize("folder", [DOCS, DOCS / "decisions"], ids=lambda folder: folder.name)
def test_the_list_of_pages_has_every_page_once(folder: Path) -> None:
    listed = re.findall(
        r"^- \[.+?\]\((\S+?)\)", (folder / "index.md").read_text("utf-8"), re.MULTILINE
    )
    pages = {path.name for path in folder.glob("*.md")} - {"index.md"}
    assert Counter(name for name in listed if "/" not in name) == Counter(pages)


def test_the_tour_of_the_code_has_every_room() -> None:
    tour = (DOCS / "architecture.md").read_text("utf-8")
    for path in (ROOT / "src" / "regard").iterdir():
        room = f"`{path.name}/" if path.is_dir() else f"`{path.name}`"
        if path.name[0] not in "_." and (path.is_dir() or path.suffix == ".py"):
            assert room in tour, path.name


def test_no_sentence_is_on_two_pages() -> None:
    """Sentences of eight words or more; tables, headings and code may repeat."""
    homes: dict[str, set[str]] = {}
    for path in PAGES:
        if path.name == "CHANGELOG.md":
            continue
        lines = prose(path.read_text("utf-8")).split("\n")
        text = " ".join(line for line in lines if not line.startswith(("|", "#", "    ", "!")))
        for sentence in re.split(r"(?<=[.:;?]) +", text):
            if len(sentence.split()) >= 8:
                homes.setdefault(sentence.strip(), set()).add(path.name)
    assert {sentence: found for sentence, found in homes.items() if len(found) > 1} == {}


def test_the_description_of_the_package_has_no_link_to_a_file() -> None:
    """A package index shows the README where the other files are not."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    hook = settings["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = "".join((ROOT / part["path"]).read_text("utf-8") for part in hook["fragments"])
    assert "](docs/" in text
    for change in hook["substitutions"]:
        text = re.sub(change["pattern"], change["replacement"], text)
    assert [link for link in LINK.findall(text) if not link.startswith("https://")] == []
    assert "regard train --pairs" in text


@pytest.mark.timeout(400)
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E"]
    done = subprocess.run(
        [*command, "-d", str(tmp_path / "trees"), str(DOCS), str(tmp_path / "site")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    pages = sorted((tmp_path / "site").rglob("*.html"))
    for page in pages:
        text = page.read_text("utf-8")
        assert not OF_ANOTHER_HOST.search(text), page.name
        assert not re.search(r"[\s(>]–[a-z]", text), f"{page.name}: an option lost its hyphens"
    navigation = (tmp_path / "site" / "index.html").read_text("utf-8")
    for path in DOCS.glob("*.md"):
        assert f'href="{path.stem}.html"' in navigation or path.stem == "index"
    reference = (tmp_path / "site" / "api.html").read_text("utf-8")
    for name in ("Translator.translate", "Translator.load", "Writer.load"):
        assert f'id="regard.{name}"' in reference
    commands = (tmp_path / "site" / "commands.html").read_text("utf-8")
    for name in (name for names in COMMANDS.values() for name in names):
        assert f'id="regard-{name}"' in commands
    assert ">--n-best INT<" in re.sub(r"</?span[^>]*>", "", commands)
