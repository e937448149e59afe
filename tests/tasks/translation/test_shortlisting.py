"""Shortlists: learned from the pairs of a run, kept with its weights, and used only when asked."""

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from regard.cli import main
from regard.engines.shortlist import NAME, Shortlist
from regard.errors import RequestError, RunError
from regard.run import Run
from regard.tasks.translation import shortlisting
from regard.tasks.translation.shortlisting import learn_shortlist, learned
from regard.tasks.translation.translator import Translator
from regard.text.tokenizer import Tokenizers

TEXTS = ["1 2 3", "7 7 0 4", "9", "5 6 8 1 2"]


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def test_pieces_become_their_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Piece n of the source is always 20 + n of the target, in another order."""
    monkeypatch.setattr(shortlisting, "ALWAYS", 0)
    draw = random.Random(1)
    rows = [draw.sample(range(10), k=draw.randint(2, 6)) for _ in range(200)]
    texts = [
        (tuple(map(str, row)), tuple(str(20 + piece) for piece in reversed(row))) for row in rows
    ]
    found = learned(texts, Tokenizers(range(10), range(30)))  # type: ignore[arg-type]
    assert {piece: each[0] for piece, each in found.candidates.items()} == {
        piece: 20 + piece for piece in range(10)
    }
    assert found.pairs == 200


def test_what_is_always_there_is_not_repeated(run: Path) -> None:
    found = learn_shortlist(run)
    assert Shortlist.of_run(Run(run)) == found
    for candidates in found.candidates.values():
        assert not set(candidates) & set(found.always)
        assert len(set(candidates)) == len(candidates)


def test_only_the_shortlist_is_written(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ctranslate2", reason="needs CTranslate2")
    learn_shortlist(run)
    plain = Translator.load(run, engine="ctranslate2").translate(TEXTS)
    allowed = Translator.load(run, engine="ctranslate2", shortlist=True)
    assert len(allowed.translate(TEXTS)) == len(TEXTS)
    # With two words for everything, nothing else can be written.
    source, target = Run(run).tokenizers()
    few = target.encode("nul ein")
    tiny = Shortlist(1, few, {piece: [] for piece in range(len(source))})
    Run(run).save_finding(NAME, tiny.finding())
    short = Translator.load(run, engine="ctranslate2", shortlist=True)
    assert set("".join(short.translate(TEXTS)).replace(" ", "")) <= set("nulein")
    assert Translator.load(run, engine="ctranslate2").translate(TEXTS) == plain


def test_a_run_without_one_says_what_to_do(run: Path) -> None:
    pytest.importorskip("ctranslate2", reason="needs CTranslate2")
    with pytest.raises(RequestError, match="regard inspect shortlist"):
        Translator.load(run, engine="ctranslate2", shortlist=True)
    with pytest.raises(RequestError, match="engine torch: has no shortlists"):
        Translator.load(run, engine="torch", shortlist=True)


def test_it_is_of_these_weights_alone(run: Path) -> None:
    learn_shortlist(run)
    found = Run(run).finding(NAME) or {}
    Run(run).save_finding(NAME, {**found, "weights": "others"})
    assert Shortlist.of_run(Run(run)) is None


@pytest.mark.parametrize("change", [{"always": [10**6]}, {NAME: {"x": [1]}}, {"pairs": None}])
def test_a_damaged_one_is_named(run: Path, change: dict[str, Any]) -> None:
    learn_shortlist(run)
    opened = Run(run)
    opened.save_finding(NAME, {**(opened.finding(NAME) or {}), **change})
    with pytest.raises(RunError, match=r"shortlist\.json: damaged"):
        Shortlist.of_run(opened)


def test_without_the_data_there_is_nothing_to_learn_from(run: Path) -> None:
    shutil.rmtree(run / "training" / "data")
    with pytest.raises(RequestError, match="training/data"):
        learn_shortlist(run)


def test_the_commands(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", "shortlist", str(run)])
    assert "candidates for each of" in capsys.readouterr().out
    main(["show", str(run)])
    assert "shortlist     " in capsys.readouterr().out
    pytest.importorskip("ctranslate2", reason="needs CTranslate2")
    main(["translate", str(run), "--shortlist", *TEXTS])
    assert len(capsys.readouterr().out.splitlines()) == len(TEXTS)
