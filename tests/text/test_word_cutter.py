"""A sentence is cut into words as the data of a tagger cuts it."""

from pathlib import Path

import pytest

from regard.errors import RunError
from regard.text.word_cutter import CutterLearner, WordCutter

NEWS = [
    *(["She", "did", "n't", "read", "Mr.", "Smith", "'s", "letter", "."],) * 4,
    *(["``", "Go", "!", "''", "he", "said", ",", "$", "5", "%", "..."],) * 4,
]


def cutter(sentences: list[list[str]]) -> WordCutter:
    learner = CutterLearner()
    for sentence in sentences:
        learner.add(sentence)
    return learner.learned()


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("She reads.", ["She", "reads", "."]),
        ("Mr. Smith's letter...", ["Mr.", "Smith", "'s", "letter", "..."]),
        ("They don't go!", ["They", "do", "n't", "go", "!"]),
        ("They don’t go", ["They", "do", "n’t", "go"]),
        ("$20, 3.5%", ["$", "20", ",", "3.5", "%"]),
        ("already apart .", ["already", "apart", "."]),
        ("", []),
    ],
)
def test_marks_and_endings_are_cut_off(sentence: str, words: list[str]) -> None:
    assert cutter(NEWS).cut(sentence) == words


def test_french_beginnings_are_cut_off() -> None:
    french = cutter([["l'", "eau", "d'", "Afrique", "aujourd'hui", "."]] * 4)
    assert french.cut("L'homme d’Asie dort aujourd'hui.") == [
        *("L'", "homme", "d’", "Asie", "dort", "aujourd'hui", "."),
    ]


def test_data_without_marks_of_their_own_is_split_at_spaces() -> None:
    sentence = "She reads, don't you? «Yes.»"
    assert (
        cutter([["She", "reads."], ["don't", "go", "now!"]] * 9).cut(sentence) == sentence.split()
    )
    assert cutter([["reads."]] * 9 + [["."]] * 4).cut("She writes.") == ["She", "writes."]
    assert WordCutter().cut(sentence) == sentence.split()


def test_a_file_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "words.json"
    assert WordCutter.load(path) == WordCutter()
    path.write_text(cutter(NEWS).to_json(), encoding="utf-8")
    assert WordCutter.load(path) == cutter(NEWS)
    for damaged in ("[]", "{", '{"other": []}'):
        path.write_text(damaged, encoding="utf-8")
        with pytest.raises(RunError, match="damaged"):
            WordCutter.load(path)
