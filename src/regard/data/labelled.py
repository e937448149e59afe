"""Files of labelled text: one label for a text, or one for each word of a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from regard.data.columns import LABEL_NAMES, TEXT_NAMES
from regard.data.label_columns import label_layout
from regard.data.lines import CONLL, check_file, kind_of, lines
from regard.data.objects import OBJECTS, found_key, objects, shown
from regard.data.tables import TableLayout, rows_of
from regard.errors import DataError
from regard.text.normalise import is_unicode

CONLLU = {"lemma": 3, "upos": 4, "xpos": 5, "feats": 6, "deprel": 8, "form": 2}
DOCUMENT_START = "-DOCSTART-"
# Lines that show whether a file holds words with labels, or texts.
LOOKED_AT = 100


@dataclass(frozen=True, slots=True)
class Labelled:
    """Units with a label each, a whole text or the words of a sentence, and the place where they
    were read.
    """

    units: tuple[str, ...]
    labels: tuple[str, ...]
    place: str


def read_texts(
    paths: Sequence[Path], label: str | int = "", text: str | int = ""
) -> Iterator[Labelled]:
    """Texts and their labels from .tsv and .csv tables and from .jsonl and .json files; each may be
    a .gz or .bz2. `label` and `text` name or number the columns; without them the first line names
    them, or their values show which is which.
    """
    for path in paths:
        check_file(path)
    for path in paths:
        if kind_of(path) in OBJECTS:
            yield from _objects(path, label, text)
        else:
            yield from _columns(path, label_layout_of(path, label, text))


def label_layout_of(path: Path, label: str | int = "", text: str | int = "") -> TableLayout:
    """How a table of labelled texts is read."""
    if kind_of(path) in CONLL:
        raise DataError(f"{path}: words with labels are for --tagged; give texts with a label each")
    return label_layout(path, label, text)


def text_remarks(paths: Sequence[Path], label: str | int = "", text: str | int = "") -> list[str]:
    """How tables are read, where that had to be found out."""
    tables = [path for path in paths if kind_of(path) not in OBJECTS]
    found = (label_layout_of(path, label, text).remark(path) for path in tables)
    return [remark for remark in found if remark]


def _columns(path: Path, layout: TableLayout) -> Iterator[Labelled]:
    label, text = layout.columns
    for cells, place in rows_of(path, layout):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) < layout.width or (len(cells) > layout.width and not layout.quoted):
            raise DataError(
                f"{place}: {len(cells)} columns, the first line has {layout.width}; "
                "write label, tab, text, without tabs in the text"
            )
        yield Labelled((cells[text],), (_told(cells[label].strip(), place),), place)


def _told(label: str, place: str) -> str:
    if not label:
        raise DataError(f"{place}: the label is empty; write one, or remove the line")
    if not is_unicode(label):
        raise DataError(
            f"{place}: the label {label!a} holds half of a character (a lone surrogate); "
            "write the whole character"
        )
    return label


def _numbered(columns: list[str], number: int, place: str) -> int:
    if not 1 <= number <= len(columns):
        raise DataError(f"{place}: there is no column {number}, only {len(columns)}")
    return number - 1


def _objects(path: Path, label: str | int, text: str | int) -> Iterator[Labelled]:
    for entry, place in objects(path):
        if entry is None:
            continue
        text_key = found_key(entry, text, TEXT_NAMES)
        yield _example(entry, found_key(entry, label, LABEL_NAMES), text_key, place)


def _example(entry: Any, label_key: str, text_key: str, place: str) -> Labelled:
    if not isinstance(entry, dict):
        raise DataError(f'{place}: not an object; write {{"{label_key}": "…", "{text_key}": "…"}}')
    for name in (text_key, label_key):
        if name not in entry:
            raise DataError(f'{place}: no "{name}" in the object; rename the key that holds it')
    text, label = entry[text_key], entry[label_key]
    if not isinstance(text, str):
        raise DataError(f'{place}: "{text_key}" is {shown(text)}; give a text in quotes')
    if not isinstance(label, str | int):
        raise DataError(
            f'{place}: "{label_key}" is {shown(label)}, and a label is a text or a whole number; '
            "put it in quotes if it is the name of a label"
        )
    return Labelled((text,), (_told(str(label), place),), place)


def _sentence(entry: Any, label_key: str, words_key: str, place: str) -> Labelled:
    has = entry if isinstance(entry, dict) else {}
    if words_key not in has and any(isinstance(has.get(name), str) for name in TEXT_NAMES):
        raise DataError(f"{place}: texts with a label each are for --labelled; give words")
    found: list[Any] = [has.get(name) for name in (words_key, label_key)]
    for name, values in zip((words_key, label_key), found, strict=True):
        if not isinstance(values, list) or not all(type(each) is str for each in values):
            raise DataError(
                f'{place}: "{name}" is {shown(values)}; '
                f'write {{"{words_key}": ["…"], "{label_key}": ["…"]}}'
            )
    words, labels = found
    if not words or len(words) != len(labels):
        raise DataError(f"{place}: {len(words)} words and {len(labels)} labels; give one for each")
    return Labelled(tuple(words), tuple(_told(label, place) for label in labels), place)


def read_tagged(
    paths: Sequence[Path], label: str | int = "", text: str | int = ""
) -> Iterator[Labelled]:
    """Sentences from CoNLL files (one word per line with its labels in columns, an empty line
    between sentences), from CoNLL-U files and from .jsonl and .json files ("words" and "labels");
    each may be a .gz or .bz2. `label` and `text`, the column of the words, are numbers of columns,
    or their names in CoNLL-U and JSON; the defaults are the last column, or UPOS in CoNLL-U, and
    the first, or FORM.
    """
    for path in paths:
        check_file(path)
        _refuse_texts(path)
    for path in paths:
        if kind_of(path) in OBJECTS:
            keys = str(label or "labels"), str(text or "words")
            for entry, place in objects(path):
                if entry is not None:
                    yield _sentence(entry, *keys, place)
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
            found = _word(columns, kind_of(path) == ".conllu", label, text, place)
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


def _refuse_texts(path: Path) -> None:
    """Refuse texts with a label each: lines of several words, and no empty line between them."""
    if kind_of(path) == ".csv":
        raise DataError(
            f"{path}: a tagger reads CoNLL, one word and its label on each line with an empty line "
            "after each sentence; texts with a label each are for --labelled"
        )
    first = [line for line, _ in islice(lines(path), LOOKED_AT)]
    if kind_of(path) in (*CONLL, *OBJECTS) or not all(first):
        return
    rows = [line.split("\t") for line in first if "\t" in line]
    if not rows and len({len(line.split()) for line in first}) > 2:
        raise DataError(
            f"{path}: the lines hold sentences without labels; a tagger reads CoNLL, one word and "
            "its label on each line, and an empty line after each sentence"
        )
    if len(rows) < max(2, len(first)):
        return
    spaced = sum(any(" " in cell.strip() for cell in row) for row in rows)
    if 2 * spaced > len(rows):
        raise DataError(
            f"{path}: no empty line ends a sentence, and a column holds several words "
            f"({shown(rows[0])}); texts with a label each are for --labelled"
        )


def _word(
    columns: list[str], conllu: bool, label: str | int, text: str | int, place: str
) -> tuple[str, str] | None:
    """A word and its label; None for a line that is a comment or stands for several words."""
    if not conllu:
        if columns[0] == DOCUMENT_START:
            return None
        if len(columns) < 2:
            raise DataError(f"{place}: a word without a label; write word, tab, label")
        for asked in (label, text):
            if isinstance(asked, str) and asked:
                raise DataError(
                    f"{place}: the columns have no names, and {asked!r} is asked for; give a "
                    ".conllu, or train with data.label set to a number"
                )
        at = _numbered(columns, label, place) if isinstance(label, int) else len(columns) - 1
        word = _numbered(columns, text, place) if isinstance(text, int) else 0
        return columns[word], _told(columns[at], place)
    if not columns[0].isdecimal():
        return None
    if len(columns) != 10:
        raise DataError(f"{place}: {len(columns)} columns; a line of CoNLL-U has 10")
    word, at = (
        _numbered(columns, _conllu_column(asked, setting, place), place)
        for asked, setting in ((text or "form", "text"), (label or "upos", "label"))
    )
    return columns[word], columns[at]


def _conllu_column(asked: str | int, setting: str, place: str) -> int:
    found = CONLLU.get(str(asked).lower(), asked)
    if isinstance(found, str):
        names = ", ".join(CONLLU)
        raise DataError(f"{place}: data.{setting} {asked!r} is no column; choose from {names}")
    return found
