"""Markdown: markdown-it finds the paragraphs, and each is spliced where it stands.

Code, front matter, HTML blocks and addresses stay. Emphasis and links are pairs of codes; code
spans, images and the like stand alone. A translation that would be read as other formatting than
that of the source has its special characters escaped.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from regard.text.documents.content import Content, Edit
from regard.text.documents.document import (
    Document,
    Part,
    Pieces,
    Segments,
    Translations,
    Wish,
    core,
    joined,
)
from regard.text.documents.markdown_inline import kinds_of, parser, parts_of

_FRONT = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n.*?\r?\n\1[ \t]*(?=\r?\n|\Z)", re.DOTALL)
_SPECIAL = re.compile(r"([`*_\[\]<>~|])")
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~]|$)")
# A word that would begin another block at the beginning of a line.
_BLOCK = re.compile(r"[-+*#>=|~`]|\d+[.)]|:")


@dataclass
class Place:
    start: int
    end: int
    prefix: str  # what later lines begin with, such as the mark of a quotation
    width: int  # of the widest line; 0 if there is one line only
    in_table: bool
    kinds: Counter[str]


def read(name: str, data: bytes, wish: Wish) -> Document:
    content = Content.of(name, data)
    segments = Segments()
    places: list[Place] = []
    references: dict[str, Any] = {}
    for block in _blocks(content, references):
        for parts in _stretches(block, references):
            pieces = joined(each.piece for each in parts)
            places.append(_place(content, block, parts, references))
            segments.add(pieces, content.line(places[-1].start))

    def write(translations: Translations) -> bytes:
        edits = []
        for number, pieces in translations.items():
            place = places[number]
            text = _written(pieces, place, references)
            edits.append(Edit(place.start, place.end, _wrapped(text, place, content.newline)))
        return content.spliced(edits)

    return Document(segments.found, write)


@dataclass
class Block:
    """The inline content of a paragraph, heading or cell, and where each line of it stands."""

    text: str
    starts: list[tuple[int, int]]  # of each line: its offset in the text, and in the file
    in_table: bool

    def offset(self, at: int, is_end: bool = False) -> int:
        """Where a character of the text is in the file. An end is after the character before."""
        at -= is_end
        inner, outer = next(each for each in reversed(self.starts) if each[0] <= at)
        return outer + at - inner + is_end


def _blocks(content: Content, references: dict[str, Any]) -> Iterator[Block]:
    front = _FRONT.match(content.text)
    skipped = content.text.count("\n", 0, front.end()) if front else 0
    # The parser reads other ends of lines as \\n, and so do the numbers of lines.
    text = content.text.replace("\r\n", "\n") if "\r" in content.text else content.text
    lines = text.split("\n")
    for number in range(skipped + bool(front)):
        lines[number] = ""
    environment: dict[str, Any] = {}
    tokens = parser().parse("\n".join(lines), environment)
    references.update(environment.get("references", {}))
    starts = [0, *(found.end() for found in re.finditer("\n", content.text))]
    in_table = False
    used: dict[int, int] = {}
    for token in tokens:
        if token.type in ("table_open", "table_close"):
            in_table = token.nesting == 1
        if token.type != "inline" or not token.map:
            continue
        if block := _located(token, lines, starts, used, in_table):
            yield block


def _located(
    token: Any, lines: list[str], starts: list[int], used: dict[int, int], in_table: bool
) -> Block | None:
    """Find the lines of a token's content in the file; None where that is not sure."""
    found: list[tuple[int, int]] = []
    at, number = 0, token.map[0]
    for line in token.content.split("\n"):
        while number < min(token.map[1], len(lines)):
            column = lines[number].find(line, used.get(number, 0))
            if column >= 0:
                break
            number += 1
        else:
            return None
        found.append((at, starts[number] + column))
        used[number] = column + len(line)
        at += len(line) + 1
        number += not in_table
    return Block(token.content, found, in_table)


def _stretches(block: Block, references: dict[str, Any]) -> Iterator[list[Part]]:
    """The parts of a block between hard breaks, without what need not be translated."""
    parts: list[Part] = []
    for part in parts_of(block.text, references):
        if part is None:
            if found := core(parts):
                yield found
            parts = []
        else:
            parts.append(part)
    if found := core(parts):
        yield found


def _place(content: Content, block: Block, parts: list[Part], references: dict[str, Any]) -> Place:
    first, last = parts[0].start, parts[-1].end
    start, end = block.offset(first), block.offset(last, is_end=True)
    own = block.text[first:last]
    prefix, width = "", 0
    if "\n" in own:
        later = next(outer for inner, outer in block.starts if inner > first)
        prefix = content.text[content.text.rfind("\n", 0, later) + 1 : later]
        width = max(map(len, block.text.split("\n")))
    return Place(start, end, prefix, width, block.in_table, kinds_of(own, references))


def _written(pieces: Pieces, place: Place, references: dict[str, Any]) -> str:
    """The translation; with escapes if it would be read as other formatting without."""
    pieces = tuple(
        _BACKSLASH.sub(r"\\\\", each) if isinstance(each, str) else each for each in pieces
    )
    text = "".join(each if isinstance(each, str) else each.raw for each in pieces)
    if place.in_table:
        text = re.sub(r"(?<!\\)\|", r"\|", text)
    if kinds_of(text, references) != place.kinds:
        text = "".join(
            _SPECIAL.sub(r"\\\1", each) if isinstance(each, str) else each.raw for each in pieces
        )
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", re.sub(r"^(?=[-+*#>=]+( |$))", r"\\", text))


def _wrapped(text: str, place: Place, newline: str) -> str:
    """The text in lines as wide as the source's were."""
    if not place.width:
        return text
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > place.width and not _BLOCK.match(word):
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return f"{newline}{place.prefix}".join([*lines, line])
