"""JSON as programs write it: one object a line, or a list of objects."""

import json
from pathlib import Path

import pytest

from regard.data.corpus import read_pairs
from regard.data.labelled import read_texts
from regard.data.texts import read_documents
from regard.errors import DataError

ENTRIES = [{"source": "one [", "target": "eins"}, {"source": 'two "2", {', "target": "zwei ]"}]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("outside", [lambda x: x, lambda x: {"version": 1, "data": x}])
def test_a_list_of_objects(tmp_path: Path, indent: int | None, outside) -> None:  # type: ignore[no-untyped-def]
    path = write(tmp_path, "t.json", json.dumps(outside(ENTRIES), indent=indent))
    found = list(read_pairs([path]))
    assert [{"source": pair.source, "target": pair.target} for pair in found] == ENTRIES
    lines = path.read_text().splitlines()
    for pair in found:
        number = int(pair.place.rpartition(":")[2])
        assert "{" in lines[number - 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"source": "a"}', r't\.json:1: neither a list of objects nor \{"data": \[…\]\}'),
        ('"a"', r"t\.json:1: neither a list"),
        (
            '[{"source": "a", "target": "b"},\n{"source"]',
            r"t\.json:2: not valid JSON; write a list",
        ),
        ('[\n{"source": "a", "target": "b"}\n', r"t\.json:2: not valid JSON"),
        ('[{"source": "a", "target": "b"}, 7]', r't\.json:1: no "source" and "target"'),
        ('[{"text": "a", "label": "b"}]', r"t\.json:1: texts and their labels are for --labelled"),
    ],
)
def test_lists_that_are_none(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        list(read_pairs([write(tmp_path, "t.json", text)]))


def test_labels_and_texts_by_their_keys(tmp_path: Path) -> None:
    path = write(tmp_path, "t.json", '[{"sentiment": "good", "review": "fine", "note": "x"}]')
    (found,) = read_texts([path])
    assert (found.units, found.labels) == (("fine",), ("good",))
    (found,) = read_texts([path], "review", "note")
    assert (found.units, found.labels) == (("x",), ("fine",))
    assert list(read_documents([path])) == ["fine", None]
    assert list(read_documents([path], "note")) == ["x", None]
    with pytest.raises(DataError, match='no "blurb" in the object'):
        list(read_documents([path], "blurb"))


def test_keys_that_a_person_chooses(tmp_path: Path) -> None:
    path = write(tmp_path, "t.jsonl", '{"a": "one", "b": "eins"}\n')
    (pair,) = read_pairs([path], columns=("b", "a"))
    assert (pair.source, pair.target) == ("eins", "one")
    with pytest.raises(DataError, match='no "a" and "c" in the object'):
        list(read_pairs([path], columns=("a", "c")))
