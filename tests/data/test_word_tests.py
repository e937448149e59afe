"""Tests of word vectors are recognised by their lines."""

from pathlib import Path

import pytest

from regard.data.word_tests import Question, RatedPair, read_word_test
from regard.errors import DataError

PAIRS = [RatedPair("king", "queen", 8.58), RatedPair("old", "new", 1.5)]


def read(tmp_path: Path, text: str) -> object:
    path = tmp_path / "test.txt"
    path.write_text(text, "utf-8")
    return read_word_test(path)


@pytest.mark.parametrize(
    "text",
    [
        "# WordSim\n# Word 1\tWord 2\tHuman\nking\tqueen\t8.58\nold\tnew\t1.5\n",
        "Word 1,Word 2,Human (mean)\nking,queen,8.58\nold,new,1.5\n",
        "word1\tword2\tPOS\tSimLex999\nking\tqueen\tN\t8.58\t3\nold\tnew\tA\t1.5\t2\n",
        "king queen 8.58\nold new 1.5\n",
    ],
)
def test_rated_pairs(text: str, tmp_path: Path) -> None:
    assert read(tmp_path, text) == PAIRS


def test_analogies(tmp_path: Path) -> None:
    text = ": capitals\nAthens Greece Oslo Norway\n\n: family\nman king woman queen\n"
    assert read(tmp_path, text) == [
        Question("capitals", ("Athens", "Greece", "Oslo", "Norway")),
        Question("family", ("man", "king", "woman", "queen")),
    ]


@pytest.mark.parametrize("text", ["It was a dark night.\nThe rain fell.\n", "one\n", ": \n"])
def test_other_text_is_no_test(text: str, tmp_path: Path) -> None:
    assert not read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (": a\nman king woman queen\nman king\n", r"test\.txt:3: 2 words; an analogy has four"),
        ("a b 1\n" * 60 + "a b c\n", r"test\.txt:61: not two words and a number"),
    ],
)
def test_a_line_that_is_wrong_is_named(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=problem):
        read(tmp_path, text)
