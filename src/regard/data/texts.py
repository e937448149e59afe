"""Files of running text: lines as they are, and the ends of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from regard.data.columns import TEXT_NAMES, text_layout
from regard.data.lines import CONLL, check_file, kind_of, lines
from regard.data.objects import OBJECTS, found_key, objects
from regard.data.tables import TABLES, rows_of
from regard.errors import DataError


def read_documents(paths: Sequence[Path], text: str | int = "") -> Iterator[str | None]:
    """Lines with their line ends, and None after each document. A file of plain text is one
    document. In a .jsonl or .json each object is one, under "text", or each string; in a .tsv or
    .csv each row is one, in the column of text. `text` names or numbers another key or column. Each
    file may be a .gz or .bz2.
    """
    for path in paths:
        check_file(path)
        if kind_of(path) in CONLL:
            raise DataError(f"{path}: words with labels are for --tagged; give running text")
    for path in paths:
        if kind_of(path) in OBJECTS:
            for each in _keys(path, text):
                yield from each.splitlines(keepends=True)
                yield None
        elif kind_of(path) in TABLES:
            for each in _cells(path, text):
                yield from (f"{line}\n" for line in each.split("\n"))
                yield None
        else:
            for line, _ in lines(path):
                yield line + "\n"
            yield None


def document_remarks(paths: Sequence[Path], text: str | int = "") -> list[str]:
    """How tables are read, where that had to be found out."""
    tables = [path for path in paths if kind_of(path) in TABLES]
    return [remark for path in tables if (remark := text_layout(path, text).remark(path))]


def _cells(path: Path, asked: str | int) -> Iterator[str]:
    """The texts of a table."""
    layout = text_layout(path, asked)
    (at,) = layout.columns
    for cells, place in rows_of(path, layout):
        if not any(cell.strip() for cell in cells):
            continue
        if at >= len(cells):
            raise DataError(
                f"{place}: {len(cells)} columns, but the text is in column {at + 1}; add it"
            )
        yield cells[at]


def _keys(path: Path, asked: str | int) -> Iterator[str]:
    """The texts of a file of JSON."""
    for entry, place in objects(path):
        if entry is None:
            continue
        if isinstance(entry, str) and not asked:
            yield entry
            continue
        key = found_key(entry, asked, TEXT_NAMES)
        if not isinstance(entry, dict) or not isinstance(entry.get(key), str):
            raise DataError(f'{place}: no "{key}" in the object; rename the key')
        yield entry[key]


def paragraphs(texts: Iterator[str | None]) -> Iterator[str | None]:
    """Lines that are not empty, each as a document of its own."""
    for text in texts:
        if text is not None and text.strip():
            yield text
            yield None


def count_characters(texts: Iterable[str | None]) -> int:
    return sum(len(text) for text in texts if text is not None)


def up_to(texts: Iterable[str | None], place: int) -> Iterator[str | None]:
    """The first `place` characters, closed as a document."""
    for text in texts:
        if text is None:
            yield None
            continue
        if len(text) >= place:
            yield text[:place]
            yield None
            return
        yield text
        place -= len(text)


def after(texts: Iterable[str | None], place: int) -> Iterator[str | None]:
    """The text after the first `place` characters."""
    for text in texts:
        if place <= 0:
            yield text
        elif text is not None:
            if len(text) > place:
                yield text[place:]
            place -= len(text)
