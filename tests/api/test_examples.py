"""Examples from lists, iterators and tables, and what is said of those that are wrong."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard import DataError, tasks
from regard.data.examples import Given

SOURCES, TARGETS = ["le chat", "le chien", ""], ["the cat", "the dog\tor\ntwo", ""]
PAIRS = list(zip(SOURCES, TARGETS, strict=True))
OBJECTS = [{"source": source, "target": target} for source, target in PAIRS]


def entry(flag: str) -> tasks.Entry:
    return next(each for each in tasks.TASKS.values() if each.flag == flag)


def given(flag: str, data: Any, label: Any = None, languages: Any = None) -> Given:
    return Given.of(flag, data, entry(flag), languages, label)


def rows(flag: str, data: Any, **options: Any) -> list[dict[str, Any]]:
    return list(given(flag, data, **options).rows())


class Dataset:
    """Rows as Hugging Face's `datasets` give them: dicts, some labels as numbers with names."""

    def __init__(self, rows: list[dict[str, Any]], **features: Any) -> None:
        self.rows, self.features = rows, features
        self.column_names = list(rows[0])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)


class ClassLabel:
    names = ("neg", "pos")


class ListOf:
    feature = ClassLabel()


@pytest.mark.parametrize(
    "data",
    [
        PAIRS,
        tuple(PAIRS),
        (pair for pair in PAIRS),
        zip(SOURCES, TARGETS, strict=True),
        list(map(list, PAIRS)),
        np.array(PAIRS),
        OBJECTS,
        iter(OBJECTS),
        {"source": SOURCES, "target": TARGETS},
        {"target": TARGETS, "id": [1, 2, 3], "Source": SOURCES},
        {"fr": SOURCES, "en": TARGETS},
        {"translation": [{"en": t, "fr": s} for s, t in PAIRS]},
        Dataset([{"translation": {"en": t, "fr": s}} for s, t in PAIRS]),
    ],
    ids=lambda data: type(data).__name__,
)
def test_pairs_come_from_anything_that_holds_them(data: Any) -> None:
    assert rows("pairs", data, languages=("fr", "en")) == OBJECTS


def test_tables_of_pandas_and_polars() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    for table in (pandas.DataFrame, polars.DataFrame):
        data = table({"id": [1, 2, 3], "target": TARGETS, "source": SOURCES})
        assert rows("pairs", data) == OBJECTS
        assert rows("text", data["source"]) == [{"text": text} for text in SOURCES]
        labelled = table({"id": [7, 8], "stars": [1, 2], "review": ["bad", "good"]})
        expected = [{"text": "bad", "label": "1"}, {"text": "good", "label": "2"}]
        assert rows("labelled", labelled) == expected
    missing = pandas.DataFrame({"source": ["a", None], "target": ["b", "c"]})
    with pytest.raises(DataError, match=r"pairs, example 2: the source is (None|nan), not a text"):
        rows("pairs", missing)


def test_labels_are_texts_or_whole_numbers() -> None:
    expected = [{"text": "a", "label": "1"}, {"text": "b", "label": "True"}]
    assert rows("labelled", [("a", 1), ("b", True)]) == expected
    assert rows("labelled", [("a", np.int64(1)), ("b", np.str_("True"))]) == expected
    for label in (None, "", 0.5, float("nan"), ["x"]):
        with pytest.raises(DataError, match=r"labelled, example 1: the label is .*, not a label"):
            rows("labelled", [("a", label)])


def test_the_numbers_of_a_dataset_have_names() -> None:
    data = Dataset([{"text": "a", "label": 1}, {"text": "b", "label": 0}], label=ClassLabel())
    assert [row["label"] for row in rows("labelled", data)] == ["pos", "neg"]
    tagged = Dataset([{"tokens": ["a", "b"], "ner_tags": [1, 0]}], ner_tags=ListOf())
    assert rows("tagged", tagged) == [{"words": ["a", "b"], "labels": ["pos", "neg"]}]


def test_the_settings_may_name_the_column_of_the_labels() -> None:
    data = {"text": ["a"], "label": ["x"], "stars": [5]}
    assert rows("labelled", data, label="stars") == [{"text": "a", "stars": "5"}]


def test_sentences_are_words_and_labels() -> None:
    expected = [{"words": ["She", "reads"], "labels": ["PRON", "VERB"]}]
    assert rows("tagged", [(["She", "reads"], ["PRON", "VERB"])]) == expected
    assert rows("tagged", {"tokens": [["She", "reads"]], "upos": [("PRON", "VERB")]}) == expected
    # As NLTK's corpora have them: a tuple for each word.
    assert rows("tagged", [[("She", "PRON"), ("reads", "VERB")]]) == expected
    assert rows("tagged", iter([[("Go", "VERB")]])) == [{"words": ["Go"], "labels": ["VERB"]}]
    with pytest.raises(DataError, match="one of the labels is None, not a label"):
        rows("tagged", [[("She", "PRON"), ("reads", None)]])
    with pytest.raises(DataError, match="is not like"):
        rows("tagged", [[]])
    with pytest.raises(DataError, match="2 words and 1 labels; give one for each"):
        rows("tagged", [(["She", "reads"], ["PRON"])])
    with pytest.raises(DataError, match="the words are 'She reads'; give a list of them"):
        rows("tagged", [("She reads", ["PRON", "VERB"])])


@pytest.mark.parametrize(
    ("flag", "data", "sentence"),
    [
        ("pairs", [("a", "b"), ("a", 5)], "pairs, example 2: the target is 5, not a text"),
        ("pairs", [("a", "b", "c")], r"example 1: .* is not like \(\"source\", \"target\"\)"),
        ("pairs", iter(["a", "b"]), r"example 1: 'a' is not like \(\"source\", \"target\"\)"),
        ("pairs", [], "pairs: there are no examples in it"),
        ("pairs", 5, "pairs: 5 is no data; give examples"),
        ("pairs", b"a", "pairs: b'a' is no data"),
        ("pairs", {"source": ["a"], "target": ["b", "c"]}, "are not of the same length"),
        ("pairs", {"a": ["a"], "b": ["b"], "c": ["c"]}, "no column 'source' among a, b, c; rename"),
        ("text", ["a", 5], 'text, example 2: 5 is not like "text"'),
        ("labelled", [{"text": "a", "x": 1, "y": 2}], "no column 'label' among text, x, y"),
    ],
)
def test_what_is_wrong_is_said(flag: str, data: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        rows(flag, data)


def test_what_names_files(tmp_path: Path) -> None:
    assert given("pairs", "a.tsv").files() == (Path("a.tsv"),)
    assert given("pairs", ["a.en", Path("a.de")]).files() == (Path("a.en"), Path("a.de"))
    assert given("text", "a.txt").files() == (Path("a.txt"),)
    assert given("text", [Path("a.txt"), Path("b.txt")]).files() == (Path("a.txt"), Path("b.txt"))
    for examples in (PAIRS, [], iter(["a"]), {"source": SOURCES}):
        assert given("pairs", examples).files() is None
    assert given("text", ["one text", "another\0"]).files() is None
    (tmp_path / "a.txt").write_text("one")
    with pytest.raises(DataError, match="is the name of a file, and a list of strings holds texts"):
        given("text", [str(tmp_path / "a.txt")]).files()


def test_a_task_without_columns_takes_any_json() -> None:
    plain = Given("digits", [[1, 2], {"a": 3}], ())
    assert list(plain.rows()) == [[1, 2], {"a": 3}]
    assert json.dumps(list(Given("digits", {"a": [1, 2]}, ()).rows())) == '[{"a": 1}, {"a": 2}]'
