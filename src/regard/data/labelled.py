"""Files of labelled text: one label for a text, or one for each word of a sentence."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.corpus import check_file, kind_of, lines
from regard.errors import DataError

TEXT_COLUMNS = ("text", "sentence", "review")
CONLLU = {"lemma": 3, "upos": 4, "xpos": 5, "feats": 6, "deprel": 8}
DOCUMENT_START = "-DOCSTART-"


@dataclass(frozen=True, slots=True)
class Labelled:
    """Units with a label each, a whole text or the words of a sentence, and the place where they
    were read.
    """

    units: tuple[str, ...]
    labels: tuple[str, ...]
    place: str


def read_texts(paths: Sequence[Path], label: str | int = "") -> Iterator[Labelled]:
    """Texts from .tsv files (label, tab, text, or columns named in a first line) and .jsonl files
    ("label" and "text"); each may be a .gz or .bz2. `label` names or numbers the label's column.
    """
    for path in paths:
        check_file(path)
    for path in paths:
        if kind_of(path) == ".jsonl":
            for entry, place in _entries(path):
                yield _example(entry, str(label or "label"), place)
        else:
            yield from _columns(path, label)


def _columns(path: Path, label: str | int) -> Iterator[Labelled]:
    label_at, text_at, count = 0, 1, 0
    for line, place in lines(path):
        columns = line.split("\t")
        if not count:
            count = len(columns)
            header = _header(columns, label, place)
            label_at, text_at = header or _numbers(columns, label, place)
            if header:
                continue
        if not line.strip():
            continue
        if len(columns) != count:
            raise DataError(
                f"{place}: {len(columns)} columns, the first line has {count}; "
                "write label, tab, text, without tabs in the text"
            )
        yield Labelled((columns[text_at],), (_told(columns[label_at].strip(), place),), place)


def _told(label: str, place: str) -> str:
    if not label:
        raise DataError(f"{place}: the label is empty; write one, or remove the line")
    return label


def column_names(columns: Sequence[str]) -> list[str]:
    return [column.strip().lower() for column in columns]


def text_column(columns: Sequence[str]) -> int | None:
    """The column of the text, if a table's first line names its columns."""
    names = column_names(columns)
    return next((names.index(name) for name in TEXT_COLUMNS if name in names), None)


def _header(columns: list[str], label: str | int, place: str) -> tuple[int, int] | None:
    """The columns of label and text, if the first line names its columns."""
    text = text_column(columns)
    if text is None:
        return None
    names = column_names(columns)
    if isinstance(label, int):
        return _numbered(columns, label, place), text
    wanted = label.lower() or "label"
    if wanted not in names:
        raise DataError(
            f"{place}: no column {wanted!r} among {', '.join(names)}; give the labels' column that "
            "name, or train with data.label set to the name it has"
        )
    return names.index(wanted), text


def _numbers(columns: list[str], label: str | int, place: str) -> tuple[int, int]:
    """The columns of label and text if no line names them: the label first, the text last."""
    if len(columns) < 2:
        raise DataError(f"{place}: no tab, so only one column; write label, tab, text on each line")
    if isinstance(label, str) and label:
        raise DataError(
            f"{place}: the columns have no names, and {label!r} is asked for; name them in the "
            "first line, or train with data.label set to a number"
        )
    return (_numbered(columns, label, place) if isinstance(label, int) else 0), len(columns) - 1


def _numbered(columns: list[str], number: int, place: str) -> int:
    if not 1 <= number <= len(columns):
        raise DataError(f"{place}: there is no column {number}, only {len(columns)}")
    return number - 1


def _entries(path: Path) -> Iterator[tuple[Any, str]]:
    """The values of JSON lines, each with its place."""
    for line, place in lines(path):
        if not line.strip():
            continue
        try:
            yield json.loads(line), place
        except (ValueError, RecursionError):
            raise DataError(f"{place}: not valid JSON; write one object on each line") from None


def _example(entry: Any, key: str, place: str) -> Labelled:
    if not isinstance(entry, dict):
        raise DataError(f'{place}: not an object; write {{"{key}": "…", "text": "…"}}')
    for name in ("text", key):
        if name not in entry:
            raise DataError(f'{place}: no "{name}" in the object; rename the key that holds it')
    text, label = entry["text"], entry[key]
    if not isinstance(text, str):
        raise DataError(f'{place}: "text" is {_shown(text)}; give a text in quotes')
    if not isinstance(label, str | int):
        raise DataError(
            f'{place}: "{key}" is {_shown(label)}, and a label is a text or a whole number; '
            "put it in quotes if it is the name of a label"
        )
    return Labelled((text,), (_told(str(label), place),), place)


def _sentence(entry: Any, key: str, place: str) -> Labelled:
    found: list[Any] = [
        entry.get(name) if isinstance(entry, dict) else None for name in ("words", key)
    ]
    for name, values in zip(("words", key), found, strict=True):
        if not isinstance(values, list) or not all(type(each) is str for each in values):
            raise DataError(
                f'{place}: "{name}" is {_shown(values)}; write {{"words": ["…"], "{key}": ["…"]}}'
            )
    words, labels = found
    if not words or len(words) != len(labels):
        raise DataError(f"{place}: {len(words)} words and {len(labels)} labels; give one for each")
    return Labelled(tuple(words), tuple(_told(label, place) for label in labels), place)


def _shown(value: Any) -> str:
    return textwrap.shorten(json.dumps(value, ensure_ascii=False), 40, placeholder=" …")


def read_tagged(paths: Sequence[Path], label: str | int = "") -> Iterator[Labelled]:
    """Sentences from CoNLL files (one word per line with its labels in columns, an empty line
    between sentences), from CoNLL-U files and from .jsonl files ("words" and "labels"); each may be
    a .gz or .bz2. `label` is the number of a column, or its name in CoNLL-U and .jsonl; the default
    is the last column, UPOS in CoNLL-U, and "labels" in .jsonl.
    """
    for path in paths:
        check_file(path)
    for path in paths:
        if kind_of(path) == ".jsonl":
            for entry, place in _entries(path):
                yield _sentence(entry, str(label or "labels"), place)
            continue
        words: list[str] = []
        labels: list[str] = []
        first_place, count = "", 0
        for line, place in lines(path):
            if not line.strip():
                if words:
                    yield Labelled(tuple(words), tuple(labels), first_place)
                words, labels = [], []
                continue
            columns = line.split("\t") if "\t" in line else line.split()
            found = _word(columns, kind_of(path) == ".conllu", label, place)
            if found is not None:
                count = count or len(columns)
                if len(columns) != count and not isinstance(label, int):
                    raise DataError(
                        f"{place}: {len(columns)} columns, the first word has {count}; write as "
                        "many for each, or train with data.label set to the labels' number"
                    )
                first_place = first_place if words else place
                words.append(found[0])
                labels.append(found[1])
        if words:
            yield Labelled(tuple(words), tuple(labels), first_place)


def _word(columns: list[str], conllu: bool, label: str | int, place: str) -> tuple[str, str] | None:
    """A word and its label; None for a line that is a comment or stands for several words."""
    if not conllu:
        if columns[0] == DOCUMENT_START:
            return None
        if len(columns) < 2:
            raise DataError(f"{place}: a word without a label; write word, tab, label")
        if isinstance(label, str) and label:
            raise DataError(
                f"{place}: the columns have no names, and {label!r} is asked for; give a .conllu, "
                "or train with data.label set to a number"
            )
        at = _numbered(columns, label, place) if isinstance(label, int) else len(columns) - 1
        return columns[0], _told(columns[at], place)
    if not columns[0].isdecimal():
        return None
    if len(columns) != 10:
        raise DataError(f"{place}: {len(columns)} columns; a line of CoNLL-U has 10")
    wanted = CONLLU.get(str(label or "upos").lower(), label)
    if isinstance(wanted, str):
        names = ", ".join(CONLLU)
        raise DataError(f"{place}: data.label {label!r} is no column; choose from {names}")
    return columns[1], columns[_numbered(columns, wanted, place)]
