"""The words of a text that get vectors."""

from pathlib import Path

import pytest

from regard.errors import RunError
from regard.text.word_vocabulary import WordVocabulary, find_word, similar_spellings

TEXTS = ["The cat, the dog.", "the Cat sat; 42 dogs", "rare"]


def learned(**changes: object) -> WordVocabulary:
    asked: dict[str, object] = {"lowercase": True, "min_count": 2, "size": 10, **changes}
    return WordVocabulary.learned(TEXTS, **asked)  # type: ignore[arg-type]


def test_frequent_words_come_first_and_rare_ones_are_left_out() -> None:
    found = learned()
    assert found.words == ("the", "cat")
    assert found.counts.tolist() == [3, 2]
    assert learned(size=1).words == ("the",)
    assert set(learned(min_count=1).words) == {"the", "cat", "dog", "dogs", "sat", "rare"}


def test_capitals_are_kept_if_wanted() -> None:
    found = learned(lowercase=False, min_count=1)
    assert {"The", "the", "Cat", "cat"} <= set(found.words)
    assert not found.lower_cases
    assert found.pieces(found.encode("The cat")) == ["The", "cat"]


def test_a_text_is_its_known_words() -> None:
    found = learned()
    assert found.pieces(found.encode("A CAT and the mouse.")) == ["cat", "the"]


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.tsv"
    path.write_text(learned().to_tsv(), "utf-8")
    found = WordVocabulary.load(path)
    assert found.words == learned().words
    assert found.fingerprint == learned().fingerprint


@pytest.mark.parametrize("content", ["", "cat\n", "cat\tmany\n", "cat\t2\ncat\t1\n", "cat\t0\n"])
def test_a_damaged_file_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.tsv"
    path.write_text(content, "utf-8")
    with pytest.raises(RunError, match=r"vocabulary\.tsv: damaged"):
        WordVocabulary.load(path)


def test_a_word_is_found_in_another_case() -> None:
    ids = {"Paris": 0, "paris": 1, "Rome": 2}
    assert [find_word(word, ids) for word in ("paris", "Paris", "rome", "ROME")] == [1, 0, 2, 2]
    assert find_word("Oslo", ids) is None


def test_a_misspelt_word_is_guessed() -> None:
    assert similar_spellings("qeen", ["queen", "king", "green", "a"])[0] == "queen"
    assert similar_spellings("zzzz", ["queen", "king"]) == []
