"""Whether line i of one side translates line i of the other, or a line nearby.

Nothing is known of the languages, so three signs are used that translations share: their lengths
(Gale & Church 1993), rare words and numbers that stand on both sides, and the last character. How
much a sign says is measured on the data itself: lines that are far apart show how often it appears
by chance. Each pair then has a log-likelihood ratio of "translates" to "has nothing to do with", at
every small distance between the lines. docs/experiments.md has the rates of errors.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ratios = dict[int, Floats]  # by the distance between the lines, one ratio for each source line

NEAR = (-3, -2, -1, 1, 2, 3)
TRIED = (0, *NEAR)
# Lines this far apart have nothing to do with each other.
FAR = (-11, -9, -7, 7, 9, 11)
LEAST_STRETCH = 40
# A stretch is called shifted if that is e^30 times as likely as that it is in place. By chance this
# happens in fewer than n · e^-30 of n lines; the margin is for neighbours that resemble each other.
EVIDENCE = 30.0
LEAST_SHIFTED = 20
MOST_SHIFTS = 5
# One strange line says no more than this, in nats.
MOST_OF_A_LINE = 4.0
# Translations have 0.7 nats and more a line. Fewer lines than these give no verdict on the whole.
LEAST_NATS, LEAST_LINES = 0.05, 400

TOKEN = re.compile(r"\d+|[^\W\d_]{3,}")
# So many characters of a line are looked at. No sentence is longer.
LOOKED_AT = 20_000


@dataclass(frozen=True)
class Stretch:
    """Consecutive lines of both sides; `first` is the number of the first line."""

    first: int
    sources: Sequence[str]
    targets: Sequence[str]

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True)
class Shift:
    """Lines of the source, whose translations are `offset` lines further down."""

    first: int
    last: int
    offset: int
    evidence: float


@dataclass(frozen=True)
class Alignment:
    """How well the sides fit together: nats of evidence for all lines as they are, the correlation
    of their lengths, and what is shifted.
    """

    lines: int
    evidence: float
    correlation: float
    shifts: tuple[Shift, ...]

    @property
    def related(self) -> bool:
        """Whether the lines have to do with each other, as far as can be seen."""
        return self.lines > 0 and self.evidence >= LEAST_NATS * self.lines

    @property
    def unrelated(self) -> bool:
        """Whether the lines have nothing to do with each other, on enough evidence."""
        return self.lines >= LEAST_LINES and not self.related and not self.shifts


def align(stretches: Sequence[Stretch]) -> Alignment:
    """Compare each line with the lines around its counterpart."""
    used = [each for each in stretches if len(each) >= LEAST_STRETCH]
    if not used:
        return Alignment(0, 0.0, 0.0, ())
    lengths, correlation = lengths_of(used)
    signs = [lengths, shared(used, rare_words(used)), shared(used, last_characters(used))]
    ratios = {offset: np.sum([sign[offset] for sign in signs], axis=0) for offset in TRIED}
    numbers = np.concatenate([np.arange(each.first, each.first + len(each)) for each in used])
    lines = sum(map(len, used))
    return Alignment(lines, float(np.sum(ratios[0])), correlation, shifts_in(ratios, numbers))


def beside(count: int, offset: int) -> tuple[slice, slice]:
    """The lines of a stretch that have a counterpart at this distance, and the counterparts."""
    first, last = max(0, -offset), min(count, count - offset)
    return slice(first, last), slice(first + offset, last + offset)


def lengths_of(stretches: Sequence[Stretch]) -> tuple[Ratios, float]:
    """Ratios of two Gaussians: lengths that correlate as the best distance has it, and as lines do
    that are far apart. Lengths are replaced by the quantiles of a Gaussian.
    """
    edges = np.cumsum([len(each) for each in stretches])[:-1]
    sources, targets = (
        np.split(normal([len(text) for each in stretches for text in getattr(each, side)]), edges)
        for side in ("sources", "targets")
    )

    def correlation(offset: int) -> float:
        product = squares = 0.0
        for u, v in zip(sources, targets, strict=True):
            here, there = beside(len(u), offset)
            product += float(u[here] @ v[there])
            squares += float((u[here] @ u[here] + v[there] @ v[there]) / 2)
        return product / squares if squares else 0.0

    by_chance = float(np.mean([correlation(offset) for offset in FAR]))
    found = {offset: correlation(offset) for offset in TRIED}
    best = max(found.values())
    ratios = {}
    for offset in TRIED:
        parts = [np.zeros(len(u)) for u in sources]
        for part, u, v in zip(parts, sources, targets, strict=True):
            here, there = beside(len(u), offset)
            if best > by_chance:
                part[here] = gaussian(u[here], v[there], best)
                part[here] -= gaussian(u[here], v[there], by_chance)
        ratios[offset] = np.concatenate(parts)
    return ratios, found[0]


def normal(values: Sequence[int]) -> Floats:
    """The quantile of each value, as a Gaussian has it; equal values have the same."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    quantiles = (np.cumsum(counts) - counts / 2) / len(values)
    return np.array([NormalDist().inv_cdf(each) for each in quantiles])[place]


def gaussian(u: Floats, v: Floats, correlation: float) -> Floats:
    """The log density of two numbers that correlate, beside that of two that do not."""
    r = min(0.97, max(-0.9, correlation))
    spread = 1 - r * r
    result: Floats = -np.log(spread) / 2 - (r * r * (u * u + v * v) - 2 * r * u * v) / (2 * spread)
    return result


Compare = Callable[[int, int, int], float]  # in a stretch, a source line with a target line


def shared(stretches: Sequence[Stretch], compare: Compare) -> Ratios:
    """Ratios of a sign that a pair has (1), has not (0), or that cannot be seen on it (NaN)."""
    found: dict[int, list[Floats]] = {}
    for offset in (*TRIED, *FAR):
        found[offset] = []
        for number, stretch in enumerate(stretches):
            row = np.full(len(stretch), np.nan)
            here, _ = beside(len(stretch), offset)
            for i in range(here.start, here.stop):
                row[i] = compare(number, i, i + offset)
            found[offset].append(row)
    values = {offset: np.concatenate(rows) for offset, rows in found.items()}

    def rate(offsets: Sequence[int]) -> float:
        seen = np.concatenate([values[offset] for offset in offsets])
        return float((np.nansum(seen) + 1) / (np.count_nonzero(~np.isnan(seen)) + 2))

    by_chance, best = rate(FAR), max(rate([offset]) for offset in TRIED)
    if best <= by_chance:
        return {offset: np.zeros(len(values[0])) for offset in TRIED}
    yes, no = np.log(best / by_chance), np.log((1 - best) / (1 - by_chance))
    return {
        offset: np.nan_to_num(np.where(values[offset] > 0, yes, no) + 0 * values[offset])
        for offset in TRIED
    }


def rare_words(stretches: Sequence[Stretch]) -> Compare:
    """Whether a word or a number is on both sides that is rare on each: names, mostly."""
    words = [
        [
            [set(TOKEN.findall(text[:LOOKED_AT])) for text in side]
            for side in (each.sources, each.targets)
        ]
        for each in stretches
    ]
    counts = [
        Counter(word for each in words for row in each[side] for word in row) for side in (0, 1)
    ]
    most = max(3, sum(map(len, stretches)) // 50)
    rare = {
        word
        for word, count in counts[0].items()
        if count <= most and 0 < counts[1].get(word, 0) <= most
    }
    kept = [[[row & rare for row in side] for side in each] for each in words]

    def compare(stretch: int, source: int, target: int) -> float:
        mine, theirs = kept[stretch][0][source], kept[stretch][1][target]
        if not mine and not theirs:
            return float("nan")
        return 0.0 if mine.isdisjoint(theirs) else 1.0

    return compare


def last_characters(stretches: Sequence[Stretch]) -> Compare:
    """Whether both end in the same mark, or both in none."""
    ends = [
        [[last_mark(text) for text in side] for side in (each.sources, each.targets)]
        for each in stretches
    ]
    return lambda stretch, source, target: float(
        ends[stretch][0][source] == ends[stretch][1][target]
    )


def last_mark(text: str) -> str:
    last = text.rstrip()[-1:]
    return "" if last.isalnum() else last


def shifts_in(ratios: Ratios, numbers: NDArray[np.int64]) -> tuple[Shift, ...]:
    """The runs of lines that fit better at another distance: the clearest, then the next."""
    gains = {
        offset: np.clip(ratios[offset] - ratios[0], -MOST_OF_A_LINE, MOST_OF_A_LINE)
        for offset in NEAR
    }
    found: list[Shift] = []
    while len(found) < MOST_SHIFTS:
        evidence, offset, first, last = max(
            (gain, offset, first, last)
            for offset in NEAR
            for gain, first, last in [best_run(gains[offset])]
        )
        fit = np.minimum(ratios[offset][first:last], MOST_OF_A_LINE).sum()
        if min(evidence, 2 * fit) < EVIDENCE or last - first < LEAST_SHIFTED:
            break
        found.append(Shift(int(numbers[first]), int(numbers[last - 1]), offset, evidence))
        for gain in gains.values():
            gain[first:last] = -MOST_OF_A_LINE
    return tuple(sorted(found, key=lambda each: each.first))


def best_run(gains: Floats) -> tuple[float, int, int]:
    """The run with the largest sum, and where it starts and ends."""
    sums = np.concatenate([[0.0], np.cumsum(gains)])
    rises = sums - np.minimum.accumulate(sums)
    last = int(np.argmax(rises))
    first = int(np.argmin(sums[: last + 1]))
    return float(rises[last]), first, last
