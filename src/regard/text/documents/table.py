"""CSV and TSV: one column is translated, in its place or into another column."""

import re
from collections.abc import Iterator

from regard.text.documents.columns import choose, unknown
from regard.text.documents.content import Content, Edit
from regard.text.documents.document import (
    Document,
    Segments,
    Translations,
    Wish,
    has_words,
    words_of,
)

Field = tuple[int, int]  # where it begins and ends, quotation marks included


def read(name: str, data: bytes, wish: Wish) -> Document:
    content = Content.of(name, data)
    first = content.text.split("\n", 1)[0]
    separator = "\t" if name.lower().endswith(".tsv") else max(",;\t|", key=first.count)
    quotes = not name.lower().endswith(".tsv") or '"' in first
    rows = list(_rows(content.text, separator, quotes))

    def value(field: Field) -> str:
        raw = content.text[slice(*field)]
        if quotes and raw.startswith('"'):
            return raw[1:-1].replace('""', '"')
        return raw

    header = [value(field) for field in rows[0]] if rows else []
    columns = choose(name, header, wish) if rows else None
    if columns is None:
        if not rows:
            return Document([], lambda translations: data)
        raise unknown(name, header)
    segments = Segments()
    places: list[tuple[list[Field], int]] = []
    is_bilingual = columns.source != columns.target
    for row in rows[1:]:
        if len(row) <= columns.source:
            continue
        text = value(row[columns.source])
        if not has_words(text):
            continue
        there = len(row) > columns.target and bool(value(row[columns.target]).strip())
        line = content.line(row[0][0])
        segments.add([text], line, finished=is_bilingual and there)
        places.append((row, columns.target))

    def write(translations: Translations) -> bytes:
        edits = []
        for number, pieces in translations.items():
            row, target = places[number]
            text = words_of(pieces)
            if target < len(row):
                was = content.text[slice(*row[target])]
                edits.append(Edit(*row[target], _written(text, separator, quotes, was)))
            else:  # a row that is too short
                end = row[-1][1]
                missing = separator * (target - len(row) + 1)
                edits.append(Edit(end, end, missing + _written(text, separator, quotes, "")))
        return content.spliced(edits)

    return Document(segments.found, write, is_bilingual)


def _rows(text: str, separator: str, quotes: bool) -> Iterator[list[Field]]:
    """The places of the fields of each row that is not empty."""
    plain = rf"[^{re.escape(separator)}\r\n]*"
    field = re.compile(
        rf'"(?:[^"]|"")*"(?=[{re.escape(separator)}\r\n]|\Z)|{plain}' if quotes else plain
    )
    row: list[Field] = []
    at = 0
    while at <= len(text):
        found = field.match(text, at)
        assert found is not None
        row.append(found.span())
        at = found.end()
        if not text.startswith(separator, at):
            if len(row) > 1 or row[0][0] < row[0][1]:
                yield row
            row = []
            at += text.startswith("\r\n", at)
        at += 1


def _written(text: str, separator: str, quotes: bool, was: str) -> str:
    """A value, in quotation marks where it needs them or where the old one had them."""
    if not quotes:
        return re.sub(r"[\t\r\n]+", " ", text)
    if was.startswith('"') or any(each in text for each in (separator, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text
