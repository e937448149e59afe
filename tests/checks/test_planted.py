"""Mistakes that are planted into good data are named in one sentence; good data has none."""

import json
from itertools import islice, product
from pathlib import Path

import pytest

from benchmarks.planted_mistakes import MISTAKES, Data, Planted, checked, naming
from regard.cli import main
from regard.data import phrasebook

READ_RIGHTLY = {"columns of ids", "label and text swapped", "quotes of a spreadsheet"}
WARNED = {"a header line", "20 % duplicates"}
WHO = ("Der Nachbar", "Meine Schwester", "Das kleine Kind", "Der alte Lehrer", "Unsere Freundin")
WHAT = ("kauft heute", "findet morgen", "sucht seit gestern", "verliert jeden Tag", "zeigt uns")
THINGS = ("das grüne Fahrrad", "einen großen Schlüssel", "die schöne Tasse", "ein neues Buch")
WHERE = ("in der Stadt", "auf dem Markt", "neben der Brücke", "hinter dem Bahnhof")


@pytest.fixture(scope="session")
def data() -> Data:
    pairs = list(islice(phrasebook.pairs("train", "phrasebook"), 600))
    sources, targets = [p.source for p in pairs], [p.target for p in pairs]
    german = [" ".join(words) + "." for words in product(WHO, WHAT, THINGS, WHERE)]
    texts = [
        ("question" if text.endswith("?") else "statement", text) for text in dict.fromkeys(targets)
    ]
    return Data(sources, targets, ("fr", "en"), german * 2, texts)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_named(mistake: str, data: Data, tmp_path: Path) -> None:
    planted = MISTAKES[mistake](data)
    status, report = checked(planted, tmp_path)
    sentence = naming(planted, report)
    assert sentence, report
    assert status == (0 if sentence.startswith(("warning", "note")) else 1)
    severity = "note" if mistake in READ_RIGHTLY else "warning" if mistake in WARNED else "error"
    assert sentence.startswith(severity)


def test_good_pairs_have_no_findings_but_notes(
    data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.fr").write_text("\n".join(data.sources) + "\n")
    Path("a.en").write_text("\n".join(data.targets) + "\n")
    main(["check", "a.fr", "a.en", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert {each["severity"] for each in report["findings"]} <= {"note"}
    assert report["facts"]["taken as"] == "pairs"
    assert report["facts"]["languages"] == ["fr", "en"]
    assert report["facts"]["pairs"] == 600
    assert report["facts"]["time"] > 0


def test_a_shift_is_located(data: Data, tmp_path: Path) -> None:
    _, report = checked(MISTAKES["shifted by one line from the middle"](data), tmp_path)
    found = next(each for each in report["findings"] if each["code"] == "shift")  # type: ignore[attr-defined]
    line = int(found["sentence"].split("line ")[1].split(" ")[0].replace(",", ""))
    assert abs(line - 301) < 15
    assert "the target is one line early" in found["sentence"]
    source, target = found["examples"][0]["texts"]
    assert dict(zip(data.sources, data.targets, strict=True))[source] == target


def test_a_shift_in_one_of_several_corpora_is_located(data: Data, tmp_path: Path) -> None:
    late = MISTAKES["shifted by one line from the start"](data).files
    files = {
        "good.fr": "".join(f"{line}\n" for line in data.sources).encode(),
        "good.en": "".join(f"{line}\n" for line in data.targets).encode(),
        "bad.fr": late["a.fr"],
        "bad.en": late["a.en"],
    }
    _, report = checked(Planted(files, "pairs", frozenset({"shift"})), tmp_path)
    sentence = naming(Planted(files, "pairs", frozenset({"shift"})), report)
    assert "from about bad.fr:" in sentence
