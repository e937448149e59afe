"""Recognises what files hold: pairs, running text, labelled texts, tagged sentences or images."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from regard.data.columns import LABEL_NAMES, TEXT_NAMES
from regard.data.lines import check_data_file, kind_of, lines
from regard.data.objects import OBJECTS, objects
from regard.data.pair_files import grouped, language_codes
from regard.data.samples import sampled
from regard.data.tables import TABLES

LOOKED_AT = 500
TAGGED = (".conllu", ".conll", ".iob", ".iob2", ".bio")
# A column of labels has at most this share of different values.
FEW_VALUES = 0.2
# A column of sentences has spaces in at least this share of its cells.
SENTENCES = 0.5


@dataclass(frozen=True)
class Kind:
    """The flag that files belong to, and why."""

    flag: str
    reason: str


def recognise(paths: Sequence[Path]) -> Kind:
    """The kind of some files, by their names and their first lines."""
    if any(path.is_dir() or kind_of(path) == ".npz" for path in paths):
        return Kind("images", "a folder" if paths[0].is_dir() else "an archive of arrays")
    for path in paths:
        check_data_file(path)
    first, ending = paths[0], kind_of(paths[0])
    if any(kind_of(path) in TAGGED for path in paths):
        return Kind("tagged", f"{first.name} is named so")
    if ending in OBJECTS:
        return keys(next((entry for entry, _ in objects(first) if entry is not None), None))
    if words_in_columns([line for line, _ in islice(lines(first), LOOKED_AT)]):
        return Kind("tagged", "a word and its labels on each line, and empty lines in between")
    if ending in TABLES:
        return columns([row for row in sampled(first).rows[:LOOKED_AT] if any(row)])
    if len(paths) > 1 and (codes := language_codes(paths)):
        return Kind("pairs", f"files that are named {codes[0]} and {codes[1]}")
    if len(paths) == len(grouped(paths)[0]) == 2 and count(first) == count(paths[1]):
        return Kind("pairs", "two files with the same number of lines")
    return Kind("text", "lines without columns")


def count(path: Path) -> int:
    return sum(1 for _ in lines(path))


def keys(entry: Any) -> Kind:
    """The kind of a file of JSON by the keys of its first object."""
    if isinstance(entry, str):
        return Kind("text", "strings")
    names = {str(key).lower() for key in entry} if isinstance(entry, dict) else set()
    texts, labels = names.intersection(TEXT_NAMES), names.intersection(LABEL_NAMES)
    if texts and labels - {"target"}:
        return Kind("labelled", f"objects with {min(texts)} and {min(labels)}")
    if texts:
        return Kind("text", f"objects with {min(texts)}")
    return Kind("pairs", f"objects with {', '.join(sorted(names)) or 'no keys'}")


def words_in_columns(first: Sequence[str]) -> bool:
    """Whether there are empty lines, and as many columns without spaces on all the others."""
    blank = sum(not line.strip() for line in first)
    rows = [line.split("\t") if "\t" in line else line.split(" ") for line in first if line.strip()]
    if not blank or len(rows) < 4 or blank > len(rows):
        return False
    width = len(rows[0])
    return (
        width > 1
        and all(len(row) == width for row in rows)
        and not any(" " in cell.strip() for row in rows for cell in row)
    )


def columns(rows: Sequence[Sequence[str]]) -> Kind:
    """The kind of a table: a column of few values beside one of sentences holds labels."""
    width = min(map(len, rows), default=1)
    if width == 1:
        return Kind("text", "a table of one column")
    table = [[row[i].strip() for row in rows] for i in range(width)]
    spaced = [sum(" " in cell for cell in column) >= SENTENCES * len(rows) for column in table]
    few = [1 < len(set(column)) <= max(2, FEW_VALUES * len(rows)) for column in table]
    if any(few) and len(rows) > 10 and any(s and not f for s, f in zip(spaced, few, strict=True)):
        return Kind("labelled", "a table with a column of few values, and one of texts")
    return Kind("pairs", f"a table of {width} columns")
