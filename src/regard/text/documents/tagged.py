"""Segments as people edit them: a text in which each code is a tag with a number, as in
`Click <1>here</1><2/>`, and as JSON, which a page keeps beside it.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, get_args

from regard.errors import DataError
from regard.text.documents.document import Code, Piece, Pieces, Segment, words_of
from regard.text.marks import Syntax

MOST_PIECES = 10_000
_TAG = re.compile(r"</?\d{1,9}/?>")
_TAGS = {"open": "<{}>", "close": "</{}>", "alone": "<{}/>"}


def tag(code: Code) -> str:
    return _TAGS[code.kind].format(code.number)


def numbered(segment: Segment) -> Segment:
    """The segment with its codes numbered from 1. Where its own words look like tags, the numbers
    begin above theirs.
    """
    own = [int(re.sub(r"\D", "", each)) for each in _TAG.findall(words_of(segment.pieces))]
    numbers = count(max(own, default=0) + 1)
    known: dict[int, int] = {}
    pieces: list[Piece] = []
    for piece in segment.pieces:
        if isinstance(piece, Code):
            if piece.number not in known:
                known[piece.number] = next(numbers)
            piece = replace(piece, number=known[piece.number])
        pieces.append(piece)
    return replace(segment, pieces=tuple(pieces))


def tagged(pieces: Pieces) -> str:
    return "".join(tag(each) if isinstance(each, Code) else each for each in pieces)


def tagged_pair(source: Pieces, target: Pieces) -> tuple[str, str]:
    """Both sides with tags: what is written alike has one number, what stands for words is text."""
    numbers: dict[str, int] = {}
    sides = []
    for pieces in (source, target):
        own: dict[int, int] = {}
        parts = []
        for each in pieces:
            if isinstance(each, Code) and not each.shown:
                if each.number not in own:
                    own[each.number] = numbers.setdefault(each.raw, len(numbers) + 1)
                each = replace(each, number=own[each.number])
            parts.append(each if isinstance(each, str) else each.shown or tag(each))
        sides.append("".join(parts))
    return sides[0], sides[1]


def untagged(text: str, segment: Segment) -> Pieces:
    """A translation with tags as the codes of its segment: each of them once, and nested."""
    codes: dict[str, Code] = {}
    for shown, own in zip(numbered(segment).pieces, segment.pieces, strict=True):
        if isinstance(shown, Code) and isinstance(own, Code):
            codes[tag(shown)] = own
    pieces: list[Piece] = []
    done = 0
    for found in _TAG.finditer(text):
        if found[0] in codes:
            pieces += [text[done : found.start()], codes[found[0]]]
            done = found.end()
    pieces.append(text[done:])
    used = [tag_of for tag_of in _TAG.findall(text) if tag_of in codes]
    for wanted in codes:
        if used.count(wanted) != 1:
            amount = "lacks" if wanted not in used else "has more than once"
            raise DataError(f"the translation {amount} {wanted}; write it exactly once")
    check_nesting(pieces)
    return tuple(each for each in pieces if each != "")


def check_nesting(pieces: Sequence[Piece]) -> None:
    waiting: list[int] = []
    for piece in pieces:
        if not isinstance(piece, Code) or piece.kind == "alone":
            continue
        if piece.kind == "open":
            waiting.append(piece.number)
        elif not waiting or waiting.pop() != piece.number:
            raise DataError("a tag closes before one that opened inside it; nest the tags")
    if waiting:
        raise DataError("a tag opens and never closes; nest the tags")


def to_json(segment: Segment) -> dict[str, Any]:
    """A numbered segment for a page: `{"pieces": ["Click ", ["open", 1], …], "syntaxes": […]}`."""
    pieces = [
        [each.kind, each.number, *([each.shown] if each.shown else [])]
        if isinstance(each, Code)
        else each
        for each in segment.pieces
    ]
    return {"pieces": pieces, "syntaxes": list(segment.syntaxes)}


def from_json(text: str) -> Segment:
    """The segment that a page sends."""
    try:
        given = json.loads(text)
        pieces = tuple(_piece(each) for each in given["pieces"][:MOST_PIECES])
        syntaxes = tuple(given["syntaxes"])
        if not set(syntaxes) <= set(get_args(Syntax)):
            raise ValueError("an unknown syntax")
    except (ValueError, LookupError, TypeError, RecursionError):
        raise DataError("not a segment, as /segments gives them") from None
    check_nesting(pieces)
    return Segment(pieces, 1, syntaxes=syntaxes)


def _piece(given: Any) -> Piece:
    if isinstance(given, str):
        return given
    kind, number, *rest = given
    shown = rest[0] if rest else ""
    if kind not in _TAGS or not isinstance(number, int) or not isinstance(shown, str):
        raise ValueError("not a code")
    return Code(kind, "", number, shown)
