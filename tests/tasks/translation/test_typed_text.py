"""Texts as people type them: other apostrophes and quotation marks, and words nobody has taught."""

import json
import shutil
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from regard.cli import main
from regard.data.corpus import Pair
from regard.decode.search import Search
from regard.engines import EngineName
from regard.recipe import parse
from regard.run import Run
from regard.studio.endpoints import translate
from regard.studio.requests import Sentence
from regard.studio.runs import OpenRun
from regard.tasks.sections import TokenizerSection
from regard.tasks.tokenizers import learn_pairs
from regard.tasks.translation.translator import Translator
from regard.training.run import train

NAMES = ("Jane", "Marie", "Paul", "Omar")
PLACES = {"l'Afrique": "Africa", "l'Inde": "India", "la Chine": "China"}
VALUES = {
    "data": {"train": ["some.fr", "some.en"], "held_out_share": 0.1},
    "tokenizer": {"vocabulary_size": 400},
    "model": {
        "encoder_layers": 1,
        "decoder_layers": 1,
        "d_model": 16,
        "d_ff": 16,
        "num_heads": 2,
        "norm": "pre",
    },
    "train": {"steps": 3, "batch_tokens": 256, "eval_sentences": 2, "threads": 1},
    "decode": {"max_length_ratio": 1.0},
}


def trained(folder: Path, **tokenizer: object) -> Path:
    """A model of three updates: what it says is nonsense, but how it reads is not."""
    sources, targets = [], []
    for name in NAMES:
        for fr, en in PLACES.items():
            sources += [f"{name} visite {fr} ?", f"{name} dit « {fr} » !"]
            targets += [f"Does {name} visit {en}’s sea?", f"{name} says “{en}”!"]
    for suffix, lines in (("fr", sources), ("en", targets)):
        (folder / f"some.{suffix}").write_text("\n".join(lines * 3) + "\n", encoding="utf-8")
    values = {
        **VALUES,
        "data": {**VALUES["data"], "folder": str(folder)},
        "tokenizer": {**VALUES["tokenizer"], **tokenizer},
    }
    train(parse(values, "typed"), folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("typed"))


TYPED = "Jane visite l’Afrique?"
READ = "Jane visite l'Afrique ?"


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_both_engines_read_what_is_typed_otherwise(run: Path, engine: EngineName) -> None:
    translator = Translator.load(run, engine=engine)
    assert translator.tokenizers.source.encode(TYPED) == translator.tokenizers.source.encode(READ)
    assert translator.translate([TYPED, "Omar dit “l´Inde”!"]) == translator.translate(
        [READ, "Omar dit « l'Inde » !"]
    )


def test_the_output_keeps_its_typography(run: Path) -> None:
    tokenizers = Run.open(run).tokenizers()
    assert tokenizers.joint
    text = "Jane says “India’s sea”!"
    assert tokenizers.target.decode(tokenizers.target.encode(text)) == text
    assert tokenizers.target.decode(tokenizers.target.encode('it\'s "so" ?')) == 'it\'s "so" ?'


def test_alignments_are_of_the_words_as_typed(run: Path) -> None:
    translator = Translator.load(run)
    for typed in (TYPED, "Jane dit “l’Inde” !", " Jane  dit\u00a0« l'Inde »"):
        found = translator.align(typed, "Does Jane visit India?")
        assert found.source_words == typed.split()
        assert all(len(row) == len(typed.split()) for row in found.weights)
        assert all(sum(row) > 0 for row in found.weights)


def test_typography_may_be_kept(tmp_path: Path) -> None:
    tokenizers = Run.open(trained(tmp_path, typography="keep")).tokenizers()
    assert tokenizers.source is tokenizers.target
    assert tokenizers.source.normalise(TYPED) == TYPED


def test_separate_vocabularies_fold_the_source_only() -> None:
    section = TokenizerSection(vocabulary_size=400)
    pairs = [Pair(f"{READ} {number}", f"it’s {number}?", "") for number in range(30)]
    tokenizers = learn_pairs(section, lambda: iter(pairs), joint=False)
    assert not tokenizers.joint
    assert tokenizers.source.normalise(TYPED) == READ
    assert tokenizers.target.normalise(TYPED) == TYPED


def test_unseen_words_are_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    translator = Translator.load(run)
    assert translator.unseen_words("Zoé visite L’Afrique en 1992") == ["Zoé", "en"]
    (found,) = translator.translations(["Zoé visite la Chine"], Search(n_best=2))
    assert [each.unseen_words for each in found] == [["Zoé"], ["Zoé"]]
    main(["translate", str(run), "Zoé visite la Chine", "Jane visite la Chine"])
    said = capsys.readouterr()
    assert "These words were never seen in training: Zoé" in said.err
    assert said.err.count("never seen") == 1
    assert "never seen" not in said.out
    main(["translate", str(run), "--format", "html", "<p>Zoé visite <em>la Chine</em></p>"])
    assert "never seen in training: Zoé\n" in capsys.readouterr().err
    main(["translate", str(run), "--json", "Zoé visite la Chine"])
    said = capsys.readouterr()
    assert json.loads(said.out)["unseen_words"] == ["Zoé"]
    assert "never seen" not in said.err


def test_a_file_gets_one_remark(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Zoé visite la Chine\nJane visite la Chine\nZoé et Ada\n"
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text.encode()), encoding="utf-8"))
    main(["translate", str(run)])
    said = capsys.readouterr().err
    assert "In 2 of 3 lines, these words were never seen in training: Zoé, et, Ada" in said


def test_the_studio_names_them(run: Path) -> None:
    opened = OpenRun(run)
    found = translate(opened, Sentence(text="Zoé visite la Chine"), lambda pieces: None)
    assert found["unseen_words"] == ["Zoé"]


def test_a_run_of_an_earlier_version_says_nothing(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old"
    shutil.copytree(run, old)
    (old / "source_words.bin").unlink()
    assert Translator.load(old).unseen_words("Zoé") == []
    main(["translate", str(old), "Zoé"])
    assert "never seen" not in capsys.readouterr().err


def test_training_that_starts_from_a_run_knows_its_words_too(run: Path, tmp_path: Path) -> None:
    for suffix in ("fr", "en"):
        lines = "".join(f"Ada chante {number}\n" for number in range(60))
        (tmp_path / f"some.{suffix}").write_text(lines, encoding="utf-8")
    values = {
        **VALUES,
        "data": {**VALUES["data"], "folder": str(tmp_path)},
        "train": {**VALUES["train"], "from_run": str(run)},
    }
    train(parse(values, "more"), tmp_path / "more")
    assert Translator.load(tmp_path / "more").unseen_words("Jane Ada Zoé") == ["Zoé"]
