"""The spaces between the words of a translation and the marks that are put back into it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from regard.text.marks import Kind, Mark, separates

# What is before and after a mark in its source: a word, a character or a mark, "" at an edge.
Sides = tuple[str, str]
NO_SPACE_BEFORE, NO_SPACE_AFTER = frozenset(".,;:!?)]}…»”’"), frozenset("([{¿¡«„“‘")


class Word(NamedTuple):
    """A unit of a translation, with the white space that is before it."""

    written: str | Mark
    gap: str

    @property
    def text(self) -> str:
        return self.written.text if isinstance(self.written, Mark) else self.written


class Placed(NamedTuple):
    """A mark that is put back among words."""

    mark: Mark
    kind: Kind
    sides: Sides


def spaced(items: Iterable[Word | Placed]) -> Iterator[str | Mark]:
    """What is written, in order, with spaces."""
    before: Word | None = None
    marks: list[Placed] = []
    for item in items:
        if isinstance(item, Placed):
            marks.append(item)
            continue
        yield from between(before, marks, item)
        yield item.written
        before, marks = item, []
    yield from between(before, marks, None)


def between(
    before: Word | None, marks: Sequence[Placed], after: Word | None
) -> Iterator[str | Mark]:
    """The marks between two units, with the space between these where it belongs."""
    gap = after.gap if before and after else ""
    row: list[Word | Placed | None] = [before, *marks, after]
    wanted = [wants_space(left, right) for left, right in pairwise(row)]
    if gap and True not in wanted:
        if None in wanted:
            wanted[wanted.index(None)] = True
        elif not all(separates(each.mark) for each in marks if each.kind == "alone"):
            wanted[-1] = True
    for junction, wants in enumerate(wanted):
        if junction:
            yield marks[junction - 1].mark
        if wants:
            yield gap or " "


def wants_space(left: Word | Placed | None, right: Word | Placed | None) -> bool | None:
    """Whether a space is between two neighbours; None where one may be."""
    if left is None or right is None:
        return False
    if is_kind(left, "open") or is_kind(right, "close"):
        return False
    wants: list[bool | None] = []
    if isinstance(left, Placed) and left.kind == "alone":
        wants.append(beside(left, left.sides[1], right, NO_SPACE_BEFORE, 0))
    if isinstance(right, Placed) and right.kind == "alone":
        wants.append(beside(right, right.sides[0], left, NO_SPACE_AFTER, -1))
    return True if True in wants else wants[0] if wants else None


def is_kind(item: Word | Placed, kind: Kind) -> bool:
    return isinstance(item, Placed) and item.kind == kind


def beside(
    placed: Placed, side: str, neighbour: Word | Placed, never: frozenset[str], end: int
) -> bool | None:
    """Whether a mark that is alone has a space on one side: as in its source, where it stood beside
    such a neighbour, and as words have it elsewhere. It touches a word or a placeholder only where
    it touched the same one.
    """
    if isinstance(neighbour, Placed):
        if not side or side.isspace() or side == neighbour.mark.text:
            return side.isspace() if side else None
        return placed.mark.word and neighbour.mark.word
    character = neighbour.text[end : len(neighbour.text) + end + 1][:1]
    if character in never:
        return False
    if side.isspace():
        return True
    if not side:
        return True if placed.mark.word else None
    return placed.mark.word and character.isalnum() and side != neighbour.text


def in_order(parts: list[str | Mark], marks: Sequence[Mark]) -> list[str | Mark]:
    """The parts with `ordered` marks in the order of the source."""
    ordered = iter([mark for mark in marks if mark.ordered])
    return [
        next(ordered, part) if isinstance(part, Mark) and part.ordered else part for part in parts
    ]
