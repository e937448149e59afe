"""Which sentences of two documents translate each other, in order.

Lengths decide first (Gale & Church 1993). From the sentences that then stand one to one, a
dictionary is learned (IBM Model 1), and lengths and words decide together. The search is banded: it
keeps one byte for each cell of a band, so that 20,000 sentences a side fit in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regard.aligning.words import Words
from regard.data.dictionary import Dictionary

Floats = npt.NDArray[np.float64]
Shape = tuple[int, int]
Rows = tuple[int, int]  # from the first to before the last

# How often a number of source sentences stands beside a number of target ones: as Gale & Church
# (1993) count them in parliament's reports, but with more that is merged or left out.
SHAPES: dict[Shape, float] = {
    (1, 1): 0.89,
    (1, 0): 0.03,
    (0, 1): 0.03,
    (2, 1): 0.06,
    (1, 2): 0.06,
    (2, 2): 0.011,
}
SPREAD = 6.8  # the variance of a target's characters for each character of its source
WIDEST, NARROW = 2000, 20
LEAST_BAND, BAND_SHARE = 200, 0.1
ROUNDS = 3
# Words of a sentence depend on each other, so they say less than the sum of what each says.
WORTH = 0.5
# The cost of a cell that no path leads to.
FAR = 1e9


@dataclass(frozen=True)
class Bead:
    """Sentences that belong together, from their first to before their last, on both sides."""

    source: range
    target: range

    @property
    def shape(self) -> Shape:
        return len(self.source), len(self.target)


def align(
    sources: Sequence[str],
    targets: Sequence[str],
    known: Iterable[tuple[str, str]] = (),
    anchors: Iterable[tuple[int, int]] = (),
) -> list[Bead]:
    """All sentences of both sides in beads; `known` are pairs that help the dictionary, and
    `anchors` are numbers of sentences after which both sides begin a paragraph.
    """
    if not sources or not targets:
        return [
            *(Bead(range(i, i + 1), range(0)) for i in range(len(sources))),
            *(Bead(range(0), range(j, j + 1)) for j in range(len(targets))),
        ]
    lengths = Lengths.of(sources, targets)
    fixed = dict(anchors)
    beads = search(lengths.costs, Band.of(lengths.centres(), lengths.width(), lengths, fixed))
    given = list(known)
    for _ in range(ROUNDS):
        pairs = [
            (sources[bead.source[0]], targets[bead.target[0]])
            for bead in beads
            if bead.shape == (1, 1)
        ]
        words = Words.of(sources, targets, Dictionary.learned([*pairs, *given]))
        both = Both(lengths, words)
        centres = centres_of(beads, len(sources))
        beads = search(both.costs, Band.of(centres, NARROW, lengths, fixed))
    return beads


@dataclass(frozen=True)
class Lengths:
    """Costs by characters alone, in nats."""

    source: Floats
    target: Floats

    @classmethod
    def of(cls, sources: Sequence[str], targets: Sequence[str]) -> Lengths:
        first, second = (
            np.array([len(text) + 1.0 for text in side]) for side in (sources, targets)
        )
        return cls(first * (second.sum() / first.sum()), second)

    def centres(self) -> npt.NDArray[np.int64]:
        """Where the band is for each number of source sentences, by characters so far."""
        so_far = np.concatenate(([0.0], np.cumsum(self.source)))
        return np.searchsorted(np.cumsum(self.target), so_far).astype(np.int64)

    def width(self) -> int:
        count = len(self.target)
        return int(min(max(LEAST_BAND, BAND_SHARE * count), WIDEST, count + 1))

    def costs(self, shape: Shape, row: int, columns: npt.NDArray[np.int64]) -> Floats:
        """Of beads that end before source sentence `row` and these target sentences."""
        first, second = shape
        if not first or not second:  # what is left out may be long or short
            return np.full(len(columns), -math.log(SHAPES[shape]))
        source = self.source[row - first : row].sum()
        sums = np.concatenate(([0.0], np.cumsum(self.target)))
        target = sums[columns] - sums[columns - second]
        mean = (source + target) / 2
        deviation = np.abs(target - source) / np.sqrt(SPREAD * np.maximum(mean, 1.0))
        return tail_costs(deviation) - math.log(SHAPES[shape])


def tail_costs(deviation: Floats) -> Floats:
    """How unlikely so large a deviation is: −log of both tails of a Gaussian, approximated."""
    bounded = np.minimum(deviation, 12.0)
    # Abramowitz & Stegun 7.1.26 for the complementary error function of x / √2.
    x = bounded / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * x)
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    result: Floats = x * x - np.log(np.maximum(series, 1e-12))
    return result


class Both:
    """Costs by characters and words. Sentences that stand together are one: a word may come from
    either of them.
    """

    def __init__(self, lengths: Lengths, words: Words) -> None:
        self.lengths, self.words = lengths, words
        self.ahead: dict[Rows, tuple[int, Floats]] = {}
        self.back: dict[Rows, tuple[int, Floats]] = {}

    def forward(self, rows: Rows, begin: int, end: int) -> tuple[int, Floats]:
        """The scores of target sentences, given source sentences, from the first of them on."""
        kept = self.ahead.get(rows)
        if kept is None or kept[0] > begin or kept[0] + len(kept[1]) < end:
            begin, end = max(0, begin - 2), min(len(self.lengths.target), end + 2)
            kept = self.ahead[rows] = begin, self.words.forward.scores(rows, begin, end)
            self.ahead.pop((rows[0] - 4, rows[1] - 4), None)
        return kept

    def backward(self, first: int, last: int, columns: Rows) -> float:
        """The score of source sentences, given target sentences."""
        kept = self.back.get(columns)
        if kept is None or not kept[0] <= first <= last <= kept[0] + len(kept[1]):
            end = min(len(self.lengths.source), last + 3 * NARROW)
            begin = max(0, first - 2)
            kept = self.back[columns] = begin, self.words.backward.scores(columns, begin, end)
        return float(kept[1][first - kept[0] : last - kept[0]].sum())

    def costs(self, shape: Shape, row: int, columns: npt.NDArray[np.int64]) -> Floats:
        found = self.lengths.costs(shape, row, columns)
        first, second = shape
        if not first or not second:
            return found
        begin, end = int(columns.min()) - second, int(columns.max())
        start, ahead = self.forward((row - first, row), begin, end)
        forward = np.sum([ahead[columns - 1 - step - start] for step in range(second)], axis=0)
        backward = [
            self.backward(row - first, row, (end - second, end)) for end in columns.tolist()
        ]
        result: Floats = found - WORTH * (forward + np.array(backward))
        return result


Costs = Callable[[Shape, int, npt.NDArray[np.int64]], Floats]


@dataclass(frozen=True)
class Band:
    """The cells that are looked at: for each number of source sentences so far, the first and the
    last number of target sentences; and the cells that the path must go through.
    """

    firsts: npt.NDArray[np.int64]
    lasts: npt.NDArray[np.int64]
    fixed: Mapping[int, int]

    @classmethod
    def of(
        cls,
        centres: npt.NDArray[np.int64],
        width: int,
        lengths: Lengths,
        fixed: Mapping[int, int],
    ) -> Band:
        columns = len(lengths.target)
        firsts = np.clip(centres - width, 0, columns)
        lasts = np.clip(centres + width, 0, columns)
        firsts[0], lasts[-1] = 0, columns
        firsts = np.minimum.accumulate(firsts[::-1])[::-1]
        lasts = np.maximum.accumulate(lasts)
        row = column = 0
        for next_row, next_column in sorted(fixed.items()):
            # A row between two paragraphs ends one and begins the other.
            firsts[row + 1 : next_row + 1] = column
            lasts[row:next_row] = next_column
            row, column = next_row, next_column
        return cls(firsts, lasts, fixed)


def search(costs: Costs, band: Band) -> list[Bead]:
    """The beads that cost least together. Cells are numbers of sentences so far on both sides."""
    firsts, lasts = band.firsts, band.lasts
    rows, columns = len(firsts) - 1, int(lasts[-1])
    shapes = list(SHAPES)
    best: dict[int, tuple[int, Floats]] = {}
    chosen: list[npt.NDArray[np.int8]] = []
    for row in range(rows + 1):
        first, last = int(firsts[row]), int(lasts[row])
        cells = np.arange(first, last + 1)
        found = np.full(len(cells), FAR)
        choice = np.full(len(cells), -1, np.int8)
        if row == 0:
            found[0] = 0.0
        for number, (down, across) in enumerate(shapes):
            if not down or row < down or (down == 2 and row - 1 in band.fixed):
                continue
            usable = cells >= across
            if not usable.any():
                continue
            before = at(best[row - down], cells[usable] - across)
            total = np.full(len(cells), FAR)
            total[usable] = before + costs((down, across), row, cells[usable])
            better = total < found
            found[better], choice[better] = total[better], number
        # A target sentence alone leads from the cell on the left, in the same row.
        alone = np.zeros(len(cells))
        if len(cells) > 1:
            alone[1:] = costs((0, 1), row, cells[1:])
        so_far = np.cumsum(alone)
        passed = np.minimum.accumulate(found - so_far) + so_far
        left = passed < found - 1e-9
        choice[left] = shapes.index((0, 1))
        values = np.where(left, passed, found)
        values[cells < band.fixed.get(row, 0)] = FAR
        best[row] = first, values
        best.pop(row - 3, None)
        chosen.append(choice)
    return traced(chosen, firsts, shapes, rows, columns)


def at(kept: tuple[int, Floats], columns: npt.NDArray[np.int64]) -> Floats:
    """Values of an earlier row; those outside the band are far."""
    first, values = kept
    places = columns - first
    inside = (places >= 0) & (places < len(values))
    return np.where(inside, values[np.clip(places, 0, len(values) - 1)], FAR)


def traced(
    chosen: Sequence[npt.NDArray[np.int8]],
    firsts: npt.NDArray[np.int64],
    shapes: Sequence[Shape],
    row: int,
    column: int,
) -> list[Bead]:
    found = []
    while row or column:
        down, across = shapes[chosen[row][column - firsts[row]]]
        found.append(Bead(range(row - down, row), range(column - across, column)))
        row, column = row - down, column - across
    return found[::-1]


def centres_of(beads: Sequence[Bead], rows: int) -> npt.NDArray[np.int64]:
    """Where beads are for each number of source sentences."""
    centres = np.zeros(rows + 1, np.int64)
    for bead in beads:
        for row in bead.source:
            centres[row + 1] = bead.target.stop
    return np.maximum.accumulate(centres)
