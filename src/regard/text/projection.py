"""Puts the marks of a text back into its translation, where the words stand that they belong to.

The links say how much each unit of the translation comes from each unit of the source. Pairs of
marks become stretches of the translation: those of a pair that is inside another lie inside its
stretch, and the stretches of neighbours are apart, so that nesting is valid whatever the links say.
Each mark of the source is put back exactly once.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from regard.text.marks import Kind, Mark, MarkedText
from regard.text.spacing import Placed, Sides, Word, in_order, spaced
from regard.text.units import Links, Unit

# How much punctuation counts beside words: attention often rests on it.
PUNCTUATION = 0.25
# How much the nearest neighbours of a mark count beside all other units.
NEIGHBOUR = 2.0
# What may touch a mark.
TOUCHING = re.compile(r"\w+|\W", re.DOTALL)
# With more marks than this, all keep their order, and nobody asks where their words went. Tags that
# cross do so, too.
MOST_MARKS = 100


@dataclass
class Node:
    """A pair of marks, one half of a pair, a mark that is alone, or the whole text; with the source
    units that it holds. `number` is that of its first mark, which gives the order of neighbours.
    """

    opening: Mark | None
    closing: Mark | None
    first: int
    last: int
    number: int
    kind: Kind = "open"
    children: list["Node"] = field(default_factory=list)
    # What is in the source before and after a mark that is alone.
    sides: Sides = ("", "")

    @property
    def is_point(self) -> bool:
        return self.kind == "alone"


@dataclass(frozen=True)
class Source:
    """A text as it was read: its units, and how many of them are before each mark."""

    marked: MarkedText
    units: list[Unit]
    places: list[int]
    shown: frozenset[int]  # the numbers of the marks that are among the units

    def crosses(self) -> bool:
        """Whether a tag is closed while one that was opened after it is open. Such tags are not
        nested, so there is no tree of them.
        """
        opened: list[str] = []
        for number, mark in enumerate(self.marked.marks):
            if number in self.shown:
                continue
            if mark.kind == "open":
                opened.append(mark.name)
            elif mark.kind == "close" and opened and opened.pop() != mark.name:
                return True
        return False

    def tree(self) -> Node:
        """The marks that are not shown among the units, as they are nested; none of them cross."""
        root = Node(None, None, 0, len(self.units), -1)
        stack, sides = [root], sides_of(self.marked)
        for number, mark in enumerate(self.marked.marks):
            place = self.places[number]
            if number in self.shown:
                continue
            if mark.kind == "open":
                stack.append(Node(mark, None, place, len(self.units), number))
                stack[-2].children.append(stack[-1])
            elif mark.kind == "close":
                if len(stack) > 1:
                    node = stack.pop()
                    node.last, node.closing = place, mark
                else:  # it closes what was opened before this text: all until here
                    half = Node(None, mark, root.first, place, number, "close", root.children)
                    root.children = [half]
            else:
                alone = Node(mark, None, place, place, number, "alone")
                alone.sides = sides[number]
                stack[-1].children.append(alone)
        return root


def sides_of(marked: MarkedText) -> list[Sides]:
    """What stands beside each mark, tags left out: a word or a character that touches it, or
    another mark; "" at an edge of the text.
    """
    before, after = [], []
    last = first = ""
    for part in marked.parts:
        if isinstance(part, Mark):
            before.append(last)
        if fills(part):
            last = part.text if isinstance(part, Mark) else TOUCHING.findall(part)[-1]
    for part in reversed(marked.parts):
        if isinstance(part, Mark):
            after.append(first)
        if fills(part):
            first = part.text if isinstance(part, Mark) else TOUCHING.findall(part)[0]
    return [*zip(before, reversed(after), strict=True)]


def fills(part: str | Mark) -> bool:
    """Whether a part takes room in a line."""
    return isinstance(part, str) or (part.kind == "alone" and bool(part.text))


def project(source: Source, text: str, found: Sequence[Unit], links: Links) -> list[str | Mark]:
    """The parts of a translation with all marks of the source, given its units and their links."""
    marks = source.marked.marks
    if len(marks) - len(source.shown) > MOST_MARKS or source.crosses():
        items = in_turn(source, len(found))
    else:
        items = emitted(Placing(source, found, links), source.tree(), 0, len(found))
    return in_order([*spaced(words(items, text, found, marks))], marks)


def in_turn(source: Source, count: int) -> Iterator[int | Placed]:
    """Marks in their order among `count` units, each as far along as it is in the source."""
    done, sides = 0, sides_of(source.marked)
    for number, mark in enumerate(source.marked.marks):
        if number in source.shown:
            continue
        place = round(source.places[number] * count / max(1, len(source.units)))
        yield from range(done, place)
        done = max(done, place)
        yield Placed(mark, mark.kind, sides[number])
    yield from range(done, count)


def words(
    items: Iterable[int | Placed], text: str, found: Sequence[Unit], marks: Sequence[Mark]
) -> Iterator[Word | Placed]:
    """Units as they are written, dropped ones left out."""
    end, gap = 0, ""
    for item in items:
        if isinstance(item, Placed):
            yield item
            continue
        unit = found[item]
        gap = text[end : unit.start] or gap
        end = unit.end
        if not unit.dropped:
            yield Word(marks[unit.mark] if unit.mark >= 0 else unit.text, gap)
            gap = ""


@dataclass(frozen=True)
class Placing:
    """Where nodes go, by the links."""

    source: Source
    found: Sequence[Unit]
    links: Links

    def shares(self, node: Node) -> Links:
        """[T]: how much each unit belongs to a node, from 0 to 1."""
        inside = self.links[:, node.first : node.last].sum(1)
        best = self.links.argmax(1) if self.links.shape[1] else np.zeros(0)
        firmly = (best >= node.first) & (best < node.last)
        share: Links = (inside / np.maximum(self.links.sum(1), 1e-9) + firmly) / 2
        return share

    def weights(self) -> Links:
        each = [0.0 if u.dropped else 1.0 if u.is_word else PUNCTUATION for u in self.found]
        return np.array(each)

    def stretch(
        self, node: Node, parent: Node, begin: int, end: int, free: Sequence[bool]
    ) -> tuple[int, int]:
        """The stretch of a node within [begin, end), of units that are free alone."""
        if node.first == node.last or begin == end:
            point = self.point(node, begin, end, free)
            if node.kind == "close":
                return begin, point
            return (point, end if node.closing is None else point)
        if (node.first, node.last) == (parent.first, parent.last) and all(free[begin:end]):
            return begin, end
        gains = (self.shares(node) - 0.5) * self.weights()
        if node.kind == "close":
            sums = np.concatenate(([0.0], gains[begin:end].cumsum()))
            return begin, begin + best_of(sums, [True, *(True for _ in sums[1:])])
        if node.closing is None:
            after = np.concatenate((gains[begin:end][::-1].cumsum()[::-1], [0.0]))
            fits = [all(free[begin + k : end]) for k in range(len(after))]
            return begin + best_of(after, fits), end
        chosen = largest_run(gains, begin, end, free)
        if chosen is None:
            open_units = [unit for unit in range(begin, end) if free[unit]]
            if not open_units:
                point = self.point(node, begin, end, free)
                return point, point
            mass = self.links[:, node.first : node.last].sum(1) * self.weights()
            unit = max(open_units, key=lambda unit: mass[unit])
            chosen = unit, unit + 1
        if node.opening is not None and node.opening.term:
            chosen = self.narrowed(node, *chosen)
        return self.trimmed(node, *chosen, end, free)

    def narrowed(self, node: Node, start: int, stop: int) -> tuple[int, int]:
        """The part of a stretch that comes most from a term, no longer than the term: what is there
        will be replaced.
        """
        room = node.last - node.first
        mass = np.concatenate(([0.0], (self.shares(node) * self.weights()).cumsum()))
        if stop - start <= room:
            return start, stop
        first = max(range(start, stop - room + 1), key=lambda at: float(mass[at + room] - mass[at]))
        return first, first + room

    def trimmed(
        self, node: Node, start: int, stop: int, end: int, free: Sequence[bool]
    ) -> tuple[int, int]:
        """Punctuation at the ends of a stretch as at the ends of its source."""
        first, last = self.source.units[node.first], self.source.units[node.last - 1]
        while stop - start > 1 and not self.found[stop - 1].is_word and last.is_word:
            stop -= 1
        while stop - start > 1 and not self.found[start].is_word and first.is_word:
            start += 1
        if not last.is_word and stop < end and free[stop] and self.found[stop].text == last.text:
            stop += 1
        return start, stop

    def point(self, node: Node, begin: int, end: int, free: Sequence[bool]) -> int:
        """The place of a mark without units: what comes from before it is before it."""
        if begin == end:
            return begin
        place, count = node.first, self.links.shape[1]
        mass = np.maximum(self.links[begin:end].sum(1), 1e-9)
        weights = self.weights()[begin:end]
        before = self.links[begin:end, :place].sum(1) / mass
        score = np.concatenate(([0.0], ((2 * before - 1) * weights).cumsum()))
        if place < count:
            score[:-1] += NEIGHBOUR * self.links[begin:end, place] / mass * weights
        if place > 0:
            score[1:] += NEIGHBOUR * self.links[begin:end, place - 1] / mass * weights
        # Between two units of one stretch of a neighbour is no room.
        fits = [
            k in (0, end - begin) or free[begin + k - 1] or free[begin + k]
            for k in range(end - begin + 1)
        ]
        return begin + best_of(score, fits)


def best_of(scores: Links, fits: Sequence[bool]) -> int:
    allowed = [place for place, fit in enumerate(fits) if fit]
    return max(allowed, key=lambda place: (round(float(scores[place]), 9), -place))


def largest_run(gains: Links, begin: int, end: int, free: Sequence[bool]) -> tuple[int, int] | None:
    """The run of free units with the largest sum of gains, if any has one above 0."""
    best, chosen = 1e-9, None
    total, start = 0.0, begin
    for unit in range(begin, end):
        if not free[unit] or total <= 0:
            total, start = 0.0, unit
        if not free[unit]:
            continue
        total += float(gains[unit])
        if total > best:
            best, chosen = total, (start, unit + 1)
    return chosen


def emitted(placing: Placing, node: Node, begin: int, end: int) -> Iterator[int | Placed]:
    """The units [begin, end) with the marks of all nodes inside a node."""
    free = [True] * len(placing.found)
    places: dict[int, tuple[int, int]] = {}
    halves = [each.number for each in node.children if each.kind == "open" and not each.closing]

    def before_halves(child: Node) -> int:
        """Where what opens after a child and stays open begins."""
        later = [places[each][0] for each in halves if each > child.number and each in places]
        return end if child.number in halves else min([*later, end])

    open_ended = [child for child in node.children if not child.is_point]
    # Halves reach to an edge, so they take their part first; then those with the most units.
    order = sorted(
        open_ended, key=lambda c: (c.closing is not None and c.kind == "open", c.first - c.last)
    )
    for child in order:
        low = begin
        if child.kind == "open" and child.closing is None:
            low = max((stop for start, stop in places.values()), default=begin)
        start, stop = placing.stretch(child, node, low, before_halves(child), free)
        places[child.number] = start, stop
        free[start:stop] = [False] * (stop - start)
    for child in node.children:
        if child.is_point:
            point = placing.point(child, begin, before_halves(child), free)
            places[child.number] = point, point
    ordered = sorted(
        node.children,
        key=lambda c: (places[c.number][0], places[c.number][1] > places[c.number][0], c.number),
    )
    place = begin
    for child in ordered:
        start, stop = places[child.number]
        yield from range(place, start)
        place = max(place, stop)
        if child.opening is not None:
            yield Placed(child.opening, child.kind, child.sides)
        if not child.is_point:
            yield from emitted(placing, child, start, stop)
        if child.closing is not None:
            yield Placed(child.closing, "close", ("", ""))
    yield from range(place, end)
