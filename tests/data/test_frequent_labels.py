"""The most frequent label of each word."""

from pathlib import Path

import pytest

from regard.data.frequent_labels import FrequentLabels, LabelCounter
from regard.errors import RunError


def test_each_word_has_its_most_frequent_label(tmp_path: Path) -> None:
    counter = LabelCounter()
    for _ in range(2):
        counter.add(["a", "dog", "runs"], ["DET", "NOUN", "VERB"])
    counter.add(["runs", "dog"], ["NOUN", "NOUN"])
    found = counter.frequent()
    assert found.labels(["a", "runs", "dog", "new"]) == ["DET", "VERB", "NOUN", "NOUN"]
    found.save(tmp_path / "found.json")
    assert FrequentLabels.load(tmp_path / "found.json") == found
    assert FrequentLabels.load(tmp_path / "none.json") is None


def test_what_is_not_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text('{"words": {"a": 1}, "otherwise": "X", "scores": {}}')
    with pytest.raises(RunError, match="damaged"):
        FrequentLabels.load(tmp_path / "wrong.json")


def test_ties_do_not_depend_on_the_order() -> None:
    one, other = LabelCounter(), LabelCounter()
    one.add(["a", "a"], ["X", "Y"])
    other.add(["a", "a"], ["Y", "X"])
    assert one.frequent() == other.frequent()
