"""Texts with marks: tags, placeholders, addresses and code, which a translation has unchanged.

`protect` (in regard.text.protect) finds the marks of a text. A translator reads the text without
them, or with symbols in their places, and `project` (in regard.text.projection) puts them back.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Literal, Self

# An open and a close mark of one name are a pair; every other mark is alone.
Kind = Literal["open", "close", "alone"]
# How the marks of a text are written; see `protect`.
Syntax = Literal[
    "text", "html", "xml", "printf", "python-brace", "brace", "icu", "dollar", "weblate", "address"
]
# A word, or any other character that is not white space.
UNIT = re.compile(r"\w+|[^\w\s]")
# What a text is split into sentences with instead of a mark.
STAND_IN = "Mark"


@dataclass(frozen=True)
class Term:
    """Words of a text that a glossary has, and how they are written in its translation."""

    source: str
    target: str


@dataclass(frozen=True)
class Mark:
    """A stretch of a text that is not translated.

    `word` says that it stands for words of the sentence, as `%s` and an address do, while others,
    such as tags, only decorate. `ordered` marks keep their order, as `%s … %d` must. Around a
    `term` is a pair of marks that are not written.
    """

    text: str
    kind: Kind = "alone"
    name: str = ""
    word: bool = False
    ordered: bool = False
    term: Term | None = None


@dataclass(frozen=True)
class Layout:
    """A text as a translator reads it, and where each mark stands in it: at a place of no width, or
    where it is shown.
    """

    text: str
    spans: list[tuple[int, int]]


@dataclass(frozen=True)
class MarkedText:
    """Text and marks in turn. `escaped` says that `<`, `>` and `&` of the text are written as
    entities; `syntaxes` are those by which the marks were found.
    """

    parts: tuple[str | Mark, ...]
    escaped: bool = False
    syntaxes: tuple[Syntax, ...] = ()
    _marks: list[Mark] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_marks", [part for part in self.parts if isinstance(part, Mark)])

    def __str__(self) -> str:
        """The text as it is written, with its marks."""
        return "".join(self._written())

    def _written(self) -> Iterator[str]:
        for part in self.parts:
            if isinstance(part, Mark):
                yield part.text
            else:
                yield escape(part, quote=False) if self.escaped else part

    @property
    def marks(self) -> list[Mark]:
        return self._marks

    @property
    def plain(self) -> str:
        """The text without its marks."""
        return self.layout().text

    @property
    def without_tags(self) -> str:
        """The text with the marks that stand for words, and no others."""
        return self.layout(lambda _, mark: mark.text if mark.word else "").text

    @property
    def written(self) -> str:
        """The text without its marks, every space of it."""
        return "".join(part for part in self.parts if isinstance(part, str))

    def with_parts(self, parts: Sequence[str | Mark]) -> Self:
        """Other parts that are written in the same way; neighbouring texts become one."""
        joined: list[str | Mark] = []
        for part in parts:
            if isinstance(part, str) and joined and isinstance(joined[-1], str):
                joined[-1] += part
            elif part != "":
                joined.append(part)
        return replace(self, parts=tuple(joined))

    def layout(self, shown: Callable[[int, Mark], str] = lambda number, mark: "") -> Layout:
        """The text with one space between words and the marks as `shown` says, "" for not at all.
        What stands on the two sides of a word that is left out does not become one word.
        """
        text, spans, gap = "", [], False
        number = 0
        for part in self.parts:
            if isinstance(part, str):
                for space, run in re.findall(r"(\s*)(\S*)", part):
                    gap = gap or bool(space)
                    if run:
                        text += (" " if gap and text else "") + run
                        gap = False
                continue
            if stand_in := shown(number, part):
                text += " " if gap and text else ""
                spans.append((len(text), len(text) + len(stand_in)))
                text, gap = text + stand_in, False
            else:
                spans.append((len(text), len(text)))
                gap = gap or separates(part)
            number += 1
        return Layout(text, spans)

    def cut(self, ends_of: Callable[[str], Sequence[int]]) -> list[Self]:
        """The pieces of this text, which joined are the text. `ends_of` says where pieces end in a
        text in which a word stands for each mark that stands for words. A close mark goes with what
        is before it, every other mark with what follows it.
        """
        shown = [
            (part, part if isinstance(part, str) else STAND_IN * part.word) for part in self.parts
        ]
        ends = [*ends_of("".join(text for _, text in shown))]
        pieces: list[list[str | Mark]] = [[]]
        place = 0
        for part, text in shown:
            rest = text
            while rest or isinstance(part, Mark):
                if (
                    ends
                    and place >= ends[0]
                    and not (isinstance(part, Mark) and part.kind == "close")
                ):
                    pieces.append([])
                    while ends and place >= ends[0]:
                        ends.pop(0)
                if isinstance(part, Mark):
                    pieces[-1].append(part)
                    place += len(text)
                    break
                room = ends[0] - place if ends else len(rest)
                pieces[-1].append(rest[:room])
                place, rest = place + len(rest[:room]), rest[room:]
        return [self.with_parts(piece) for piece in pieces if piece]


def separates(mark: Mark) -> bool:
    """Whether the words before and after a mark are two words."""
    return mark.word or (mark.kind == "alone" and mark.name != "wbr")
