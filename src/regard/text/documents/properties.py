"""Java's .properties files."""

import re
from collections.abc import Iterator

from regard.errors import DataError
from regard.text.documents.content import Content, Edit
from regard.text.documents.document import (
    Document,
    Segments,
    Translations,
    Wish,
    has_words,
    words_of,
)
from regard.text.normalise import scalar_values

# A comment or the line of a pair, which goes on after a backslash.
_LINES = re.compile(r"[ \t\f]*[#!][^\r\n]*|(?P<pair>[^\\\r\n](?:[^\\\r\n]|\\(?:\r\n|[\s\S]))*)")
_KEY = re.compile(r"[ \t\f]*((?:[^\\=: \t\f\r\n]|\\.)+)[ \t\f]*(?:[=:][ \t\f]*)?")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|\r?\n[ \t\f]*|\r[ \t\f]*|[\s\S])")
_NAMES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ARGUMENT = re.compile(r"\{\d+[,}]")


def read(name: str, data: bytes, wish: Wish) -> Document:
    """Read the file as UTF-8, or as ISO-8859-1, which old ones are in. What neither a file nor its
    encoding has so far is written as an escape.
    """
    try:
        content = Content.of(name, data)
    except DataError:
        content = Content.of(name, data, "iso-8859-1")
    plain = content.text.isascii() or content.codec == "iso-8859-1"
    segments = Segments()
    places: list[tuple[int, int, bool]] = []
    for key, start, end in _values(content):
        value = scalar_values(_ESCAPE.sub(_unescaped, content.text[start:end]))
        is_pattern = _ARGUMENT.search(value) is not None  # in which '' is an apostrophe
        value = value.replace("''", "'") if is_pattern else value
        if has_words(value):
            segments.add([value], content.line(start), key, syntaxes=["icu"] if is_pattern else [])
            places.append((start, end, is_pattern))

    def write(translations: Translations) -> bytes:
        edits = []
        for number, pieces in translations.items():
            start, end, is_pattern = places[number]
            text = words_of(pieces)
            text = text.replace("'", "''") if is_pattern else text
            edits.append(Edit(start, end, _escaped(text, plain)))
        return content.spliced(edits)

    return Document(segments.found, write)


def _values(content: Content) -> Iterator[tuple[str, int, int]]:
    """Each key with the place of its value."""
    for line in _LINES.finditer(content.text):
        if line.lastgroup == "pair" and (key := _KEY.match(line[0])) and key.end() < len(line[0]):
            yield key[1], line.start() + key.end(), line.end()


def _unescaped(found: re.Match[str]) -> str:
    name = found[1]
    if name[0] == "u" and len(name) == 5:
        return chr(int(name[1:], 16))
    return "" if name[0] in "\r\n" else _NAMES.get(name, name)


def _escaped(text: str, plain: bool) -> str:
    text = text.replace("\\", "\\\\")
    for name, letter in _NAMES.items():
        text = text.replace(letter, f"\\{name}")
    if text[:1] == " ":
        text = "\\" + text
    if not plain:
        return text
    units = (
        letter.encode("utf-16-be").hex() if not letter.isascii() else letter for letter in text
    )
    return "".join(
        unit
        if letter.isascii()
        else "".join(f"\\u{unit[at : at + 4]}" for at in range(0, len(unit), 4))
        for letter, unit in zip(text, units, strict=True)
    )
