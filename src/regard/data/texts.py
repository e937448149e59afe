"""Files of running text: lines as they are, and the ends of documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from regard.data.corpus import check_file, kind_of, lines
from regard.data.labelled import text_column
from regard.errors import DataError


def read_documents(paths: Sequence[Path]) -> Iterator[str | None]:
    """Lines with their line ends, and None after each document. A file of plain text is one
    document. In a .jsonl each line is one, under "text"; in a .tsv each line is one, in the column
    of text. Each file may be a .gz or .bz2.
    """
    for path in paths:
        check_file(path)
    for path in paths:
        match kind_of(path):
            case ".jsonl":
                texts = (text_of(line, place) for line, place in lines(path) if line.strip())
                for text in texts:
                    yield from text.splitlines(keepends=True)
                    yield None
            case ".tsv":
                for text in column(path):
                    yield text + "\n"
                    yield None
            case _:
                for line, _ in lines(path):
                    yield line + "\n"
                yield None


def column(path: Path) -> Iterator[str]:
    """The texts of a table, from the column that its first line names, or else from the last."""
    at: int | None = None
    for number, (line, place) in enumerate(lines(path)):
        columns = line.split("\t")
        if not number:
            at = text_column(columns)
            if at is not None:
                continue
        if not line.strip():
            continue
        if at is not None and at >= len(columns):
            raise DataError(
                f"{place}: {len(columns)} columns, but the text is in column {at + 1}; add it"
            )
        yield columns[-1 if at is None else at]


def text_of(line: str, place: str) -> str:
    """The text in a line of JSON."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError(f"{place}: not valid JSON; write one object on each line") from None
    match entry:
        case {"text": str(text)}:
            return text
    raise DataError(f'{place}: no "text" in the object; rename the key')


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
