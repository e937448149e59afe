"""Glossaries: a model that learns to read terms, the command, Python and documents."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from regard.cli import main
from regard.errors import RecipeError, RequestError
from regard.recipe import Recipe, parse
from regard.tasks.translation.translator import Translator
from regard.training.events import StepReport
from regard.training.run import train, training_run
from tests.data.test_switched import some_pairs

Tiny = Callable[..., Recipe]


@pytest.fixture
def recipe(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """A recipe whose words are as common as those of a language with ten words."""
    monkeypatch.setattr("regard.data.switched.MOST_COMMON", 1.0)
    pairs = some_pairs(120)
    for name, side in (("xx", "source"), ("yy", "target")):
        lines = "".join(getattr(pair, side) + "\n" for pair in pairs)
        (tmp_path / f"words.{name}").write_text(lines)
    files = '["words.xx", "words.yy"]'
    return tiny(f'data.folder="{tmp_path}"', f"data.train={files}", "data.terms=0.5")


def test_a_stopped_run_ends_as_if_it_had_not_been(
    recipe: Recipe, tmp_path: Path, outcome: Callable[[Path], dict[str, Any]]
) -> None:
    train(recipe, tmp_path / "whole")
    for step in (3, 8):
        with closing(training_run(recipe, tmp_path / "stopped")) as events:
            for event in events:
                if isinstance(event, StepReport) and event.step == step:
                    break
    train(recipe, tmp_path / "stopped")
    assert outcome(tmp_path / "stopped") == outcome(tmp_path / "whole")
    assert Translator.load(tmp_path / "whole").reads_terms


def test_two_vocabularies_cannot_read_terms(tiny: Tiny) -> None:
    settings = "tokenizer.joint=false", "model.tied_embeddings=output"
    with pytest.raises(RecipeError, match="which needs tokenizer"):
        tiny(*settings, "data.terms=0.1")
    parse(tiny(*settings).model_dump(mode="json", exclude_none=True), "without terms")


@pytest.fixture
def glossary(tmp_path: Path) -> Path:
    """Terms of the language of letters, whose model writes EE for e."""
    path = tmp_path / "terms.tsv"
    path.write_text("xx\tyy\nb e\tBee\nc\t\nd\tDD\n")
    return path


def test_the_command_reports_on_terms(
    folder: Path, glossary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["translate", str(folder), "a b e g.", "c d.", "f.", "--glossary", str(glossary)])
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert "Bee" in lines[0].split()
    assert lines[1:] == ["c DD!", "FF!"]
    assert "3 terms: 1 written by the model, 2 in place of other words." in err
    main(["translate", str(folder), "f.", "--glossary", str(glossary)])
    assert "No terms in the texts." in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_the_json_has_each_term(
    folder: Path, glossary: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    command = ["translate", str(folder), "a b e g.", "--json", "--engine", engine]
    main([*command, "--glossary", str(glossary)])
    found = json.loads(capsys.readouterr().out)
    assert found["terms"] == [{"source": "b e", "target": "Bee", "found": "replaced"}]
    assert found["marks"] is None
    assert "Bee" in found["text"]
    main(command)
    assert json.loads(capsys.readouterr().out)["terms"] == []


def test_what_cannot_go_together_is_refused(
    folder: Path, glossary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in (["--align"], ["--prefix", "ein"]):
        with pytest.raises(SystemExit):
            main(["translate", str(folder), "a.", "--glossary", str(glossary), *option])
        assert "--glossary: cannot go with" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["translate", str(folder), "a.", "--glossary", str(glossary) + ".none"])
    assert "terms.tsv.none: not a glossary" in capsys.readouterr().err


def test_python_takes_a_file_or_a_mapping(folder: Path, glossary: Path) -> None:
    translator = Translator.load(folder)
    assert not translator.reads_terms
    by_file = translator.translate(["a b e g.", "c d."], glossary=glossary)
    assert translator.translate("a b e g.", glossary={"b e": "Bee"}) == by_file[0]
    assert translator.translate("c d.", glossary=str(glossary)) == by_file[1] == "c DD!"
    html = translator.translate("<b>a</b> <i>b</i>.", format="html", glossary={"b": "x<y"})
    assert html == "<b>AA</b> <i>x&lt;y</i>!"
    with pytest.raises(RequestError, match="glossary: 5 is none"):
        translator.translate("a.", glossary=5)  # type: ignore[call-overload]


def test_documents_have_the_terms_too(
    folder: Path, glossary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>a <b>b e</b> g.</p>")
    main(["file", str(folder), str(page), "--glossary", str(glossary)])
    assert "<b>Bee</b>" in (tmp_path / "page.yy.html").read_text()
    assert "1 term: 0 written by the model, 1 in place of other words." in capsys.readouterr().err
    (tmp_path / "page.yy.html").unlink()
    done = Translator.load(folder).translate_file(page, glossary={"b e": "Eeb"})
    assert "<b>Eeb</b>" in done.path.read_text()
    assert [each.found for each in done.terms] == ["replaced"]
