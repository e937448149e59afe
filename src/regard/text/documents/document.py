"""A document: the texts in a file that are to be translated, and how their translations go in."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from regard.errors import DataError
from regard.text.languages import base_code, language_name
from regard.text.marks import Syntax
from regard.text.memory import Match

# White space of a file, which other spaces, such as a no-break space, are not.
WHITE = " \t\r\n\f"
_WHITE = re.compile(f"[{WHITE}]+")


@dataclass(frozen=True)
class Code:
    """Something in a text that is not text: formatting that opens or closes, or an image that
    stands alone. What opens and what closes it have the same number. `raw` is how the format knows
    it. One that stands for words is shown to the model as `shown`; one that is only protected in a
    text is text again in the end.
    """

    kind: Literal["open", "close", "alone"]
    raw: str
    number: int
    shown: str = ""
    is_ordered: bool = False
    is_text: bool = False


Piece = str | Code
Pieces = tuple[Piece, ...]
Translations = Mapping[int, Pieces]


@dataclass(frozen=True)
class Segment:
    """A text of a document. `key` names it there, in every language, if the format has names;
    `syntaxes` are those of its placeholders.
    """

    pieces: Pieces
    line: int
    key: str = ""
    finished: bool = False
    syntaxes: tuple[Syntax, ...] = ("text",)


@dataclass(frozen=True)
class HowSure:
    """How likely a translation is to be good, from 0 to 1, and what a person is to do with it:
    `likely fine` or `check`.
    """

    probability: float
    verdict: str

    @property
    def percent(self) -> int:
        return round(100 * self.probability)


@dataclass(frozen=True)
class Document:
    """`write` makes the file with some of its segments translated: none of them gives the same
    bytes. `is_bilingual` says that the file holds both languages. `matches` and `sure` are put
    there before it is written: what a memory has for a segment, and how sure its translation is,
    which some formats can say; `says_how_sure` is whether this one does.
    """

    segments: Sequence[Segment]
    write: Callable[[Translations], bytes]
    is_bilingual: bool = False
    matches: dict[int, Match] = field(default_factory=dict)
    sure: dict[int, HowSure] = field(default_factory=dict)
    says_how_sure: bool = False


@dataclass(frozen=True)
class Wish:
    """What a document is read for: from and to which language, "" if that is not known; of a table,
    which column is translated, and into which; whether finished texts are translated again; and
    which segments have translations that a person has reviewed.
    """

    source: str = ""
    target: str = ""
    column: str = ""
    into: str = ""
    overwrite: bool = False
    reviewed: frozenset[int] = frozenset()


@dataclass
class Segments:
    """Collects the segments of a document, each with a place where its translation goes."""

    found: list[Segment] = field(default_factory=list)

    def add(
        self,
        pieces: Iterable[Piece],
        line: int,
        key: str = "",
        finished: bool = False,
        syntaxes: Sequence[Syntax] = (),
    ) -> int:
        self.found.append(Segment(tuple(pieces), line, key, finished, ("text", *syntaxes)))
        return len(self.found) - 1


def has_words(text: str) -> bool:
    return any(letter.isalpha() for letter in text)


def words_of(pieces: Iterable[Piece]) -> str:
    """The text alone."""
    return "".join(each for each in pieces if isinstance(each, str))


def as_text(pieces: Iterable[Piece]) -> str:
    """A text whose codes are all text."""
    return "".join(each if isinstance(each, str) else each.raw for each in pieces)


def check_language(name: str, found: str, wanted: str, side: Literal["from", "to"]) -> None:
    """Refuse a file that says it is for another language."""
    if found and wanted and base_code(found) != base_code(wanted):
        raise DataError(
            f"{name}: is to be translated {side} {language_name(found)} ({found}), but the run "
            f"translates {side} {language_name(wanted)} ({wanted}); use another run or file"
        )


@dataclass(frozen=True)
class Part:
    """A piece of a text, and where it is in the file."""

    piece: Piece
    start: int
    end: int


def text_parts(raw: str, start: int, text: Callable[[str], str] = str) -> list[Part]:
    """The parts of a text of the file: white space at its ends, and what is between. `text` takes
    escapes out of it.
    """
    inner = raw.strip(WHITE)
    if not inner:
        return [Part(raw, start, start + len(raw))]
    first = raw.index(inner)
    last = first + len(inner)
    found = [
        Part(raw[:first], start, start + first),
        Part(text(inner), start + first, start + last),
        Part(raw[last:], start + last, start + len(raw)),
    ]
    return [each for each in found if each.start < each.end]


def bounds(parts: Sequence[Part]) -> tuple[int, int]:
    """Which parts are left without what need not be translated at the ends: white space, codes that
    stand alone, and formatting that is around everything.
    """
    count = Counter(each.piece.number for each in parts if isinstance(each.piece, Code))
    first, last = 0, len(parts)

    def is_outside(at: int) -> bool:
        piece = parts[at].piece
        if isinstance(piece, str):
            return not piece.strip()
        return count[piece.number] == 1 and not piece.shown

    while first < last:
        before, after = parts[first].piece, parts[last - 1].piece
        if is_outside(first):
            first += 1
        elif is_outside(last - 1):
            last -= 1
        elif isinstance(before, Code) and isinstance(after, Code) and before.number == after.number:
            first, last = first + 1, last - 1
        elif isinstance(before, Code) and _closes_at_once(parts, first):
            first += 2  # empty formatting
        else:
            break
    return first, last


def core(parts: Sequence[Part]) -> list[Part]:
    """The parts within these bounds; [] if there are no words in them."""
    first, last = bounds(parts)
    count = Counter(each.piece.number for each in parts if isinstance(each.piece, Code))
    found = [
        replace(each, piece=replace(each.piece, kind="alone"))
        if isinstance(each.piece, Code) and count[each.piece.number] == 1
        else each
        for each in parts[first:last]
    ]
    return found if has_words(words_of(each.piece for each in found)) else []


def _closes_at_once(parts: Sequence[Part], at: int) -> bool:
    first, second = parts[at].piece, parts[at + 1].piece if at + 1 < len(parts) else ""
    return isinstance(first, Code) and isinstance(second, Code) and first.number == second.number


def joined(pieces: Iterable[Piece]) -> Pieces:
    """The pieces with neighbouring texts as one; any white space is one space."""
    found: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Code):
            found.append(piece)
        elif found and isinstance(found[-1], str):
            found[-1] = _WHITE.sub(" ", found[-1] + piece)
        elif piece:
            found.append(_WHITE.sub(" ", piece))
    return tuple(found)
