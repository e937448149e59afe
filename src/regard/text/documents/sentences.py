"""The sentences of a segment, each with its codes and placeholders."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from regard.text.documents.document import (
    Code,
    Part,
    Piece,
    Pieces,
    Segment,
    bounds,
    has_words,
    words_of,
)
from regard.text.languages import UNSPACED, base_code
from regard.text.marks import STAND_IN, Mark, MarkedText
from regard.text.protect import protect
from regard.text.sentences import ends

# Formatting within formatting that is deeper than this is translated together.
MOST_DEPTH = 20
# Placeholders of a text have numbers from here.
FIRST_NUMBER = 1_000_000


@dataclass
class Cut:
    """A segment as what stays, and sentences that are translated, by their numbers."""

    parts: list[Piece | int]
    sentences: list[Pieces]

    def filled(self, translations: Mapping[int, Pieces], target: str) -> Pieces:
        """The segment with its sentences translated, up to the first without a translation, joined
        as the target language is written.
        """
        space = "" if base_code(target) in UNSPACED else " "
        pieces: list[Piece] = []
        for at, part in enumerate(self.parts):
            if isinstance(part, int):
                if part not in translations:
                    break
                if at and isinstance(self.parts[at - 1], int):
                    pieces.append(space)
                pieces += translations[part]
            elif part == " " and self._is_between(at):
                pieces.append(space)
            else:
                pieces.append(part)
        return _as_text(pieces)

    def _is_between(self, at: int) -> bool:
        around = self.parts[max(0, at - 1) : at + 2]
        return len(around) == 3 and isinstance(around[0], int) and isinstance(around[2], int)


def cut(segment: Segment, language: str) -> Cut:
    """Cut a segment into sentences. A pair of codes is never cut in two."""
    found = Cut([], [])
    _add(_protected(segment), language, found, MOST_DEPTH)
    return found


def uncut(segment: Segment) -> Cut:
    """All of a segment as one sentence."""
    return Cut([0], [_protected(segment)])


def marked(sentence: Pieces) -> tuple[MarkedText, dict[Mark, Code]]:
    """A sentence as a translator takes it, and the code that each mark stands for."""
    codes: dict[Mark, Code] = {}
    parts: list[str | Mark] = []
    before, after = _last_letters(sentence), _last_letters(sentence[::-1], first=True)[::-1]
    for at, piece in enumerate(sentence):
        if isinstance(piece, str):
            parts.append(piece)
            continue
        name = f"{piece.number}"
        # Two words between which it stands directly are not to become one.
        separates = before[at].isalnum() and after[at].isalnum()
        if piece.kind == "alone" and not piece.shown and not separates:
            name = "wbr"
        text = piece.shown or f"{piece.kind} {piece.number}"
        mark = Mark(text, piece.kind, name, bool(piece.shown), piece.is_ordered)
        codes[mark] = piece
        parts.append(mark)
    return MarkedText((), syntaxes=("text",)).with_parts(parts), codes


def unmarked(text: MarkedText, codes: Mapping[Mark, Code]) -> Pieces:
    return tuple(codes[part] if isinstance(part, Mark) else part for part in text.parts)


def _last_letters(pieces: Sequence[Piece], first: bool = False) -> list[str]:
    """Before each piece: the last letter of the nearest text, or its first one."""
    found, letter = [], ""
    for piece in pieces:
        found.append(letter)
        if isinstance(piece, str) and piece:
            letter = piece[0] if first else piece[-1]
    return found


def _protected(segment: Segment) -> Pieces:
    """The segment with its placeholders as codes."""
    pieces: list[Piece] = []
    number = FIRST_NUMBER
    for piece in segment.pieces:
        if isinstance(piece, Code):
            pieces.append(piece)
            continue
        waiting: list[tuple[str, int]] = []
        for part in protect(piece, *segment.syntaxes).parts:
            if isinstance(part, str):
                pieces.append(part)
                continue
            number += 1
            shown = part.text if part.word else ""
            code = Code(part.kind, part.text, number, shown, part.ordered, is_text=True)
            if part.kind == "close":
                own = waiting.pop()[1] if waiting and waiting[-1][0] == part.name else number
                code = replace(code, number=own)
            elif part.kind == "open":
                waiting.append((part.name, number))
            pieces.append(code)
    return tuple(pieces)


def _as_text(pieces: Sequence[Piece]) -> Pieces:
    """The pieces with placeholders as text."""
    found: list[Piece] = []
    for piece in pieces:
        part = piece.raw if isinstance(piece, Code) and piece.is_text else piece
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return tuple(found)


def _add(pieces: Pieces, language: str, found: Cut, depth: int) -> None:
    parts = [
        part
        for piece in pieces
        for part in (_trimmed(piece) if isinstance(piece, str) else [Part(piece, 0, 0)])
    ]
    first, last = bounds(parts)
    inner = tuple(part.piece for part in parts[first:last])
    found.parts += [part.piece for part in parts[:first]]
    if not has_words(words_of(inner)):
        found.parts += inner
    elif depth and len(units := _units(inner, language)) > 1:
        for unit in units:
            _add(unit, language, found, depth - 1)
    else:
        found.parts.append(len(found.sentences))
        found.sentences.append(inner)
    found.parts += [part.piece for part in parts[last:]]


def _trimmed(text: str) -> list[Part]:
    """A text, and the white space of any kind at its ends."""
    inner = text.strip()
    start = text.index(inner) if inner else len(text)
    parts = text[:start], inner, text[start + len(inner) :]
    return [Part(each, 0, 0) for each in parts if each]


def _units(pieces: Sequence[Piece], language: str) -> list[Pieces]:
    """The pieces, cut where a sentence ends and no pair is open. A line break ends a sentence."""
    shown = [
        piece if isinstance(piece, str) else STAND_IN if piece.shown else "" for piece in pieces
    ]
    places = ends("".join(shown), language)
    ended = frozenset(places)
    units: list[list[Piece]] = [[]]
    at = depth = 0
    for piece, text in zip(pieces, shown, strict=True):
        closes = isinstance(piece, Code) and piece.kind == "close"
        if at in ended and depth == 0 and not closes and units[-1]:
            units.append([])
        if isinstance(piece, Code):
            depth += {"open": 1, "close": -1, "alone": 0}[piece.kind]
            units[-1].append(piece)
        else:
            start = at
            inner = bisect_right(places, at), bisect_left(places, at + len(piece))
            for place in places[slice(*inner)] if depth == 0 else ():
                units[-1].append(piece[at - start : place - start])
                units.append([])
                at = place
            units[-1].append(piece[at - start :])
            at = start
        at += len(text)
    return [tuple(unit) for unit in units]
