"""What is odd in series: what cannot be learned, gaps, jumps, columns that leak the target."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regard.checks.report import EXAMPLES, Example, Finding, share, spread
from regard.data.seasons import Season, season_of
from regard.data.series import Floats, Series, SeriesTable

FEW_VALUES = 100
MISSING_ODD = 0.05
# Series whose usual sizes are this factor apart.
SCALES_APART = 1e6
# A change is a jump if it is this many times as large as all but a hundredth of the changes.
JUMP = 10.0
# Values that programs write where there is none, and how far from all others they are.
MARKS = (-1.0, -99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0)
# A value that stays the same for this many seasons is a sensor that is stuck.
STUCK_SEASONS = 3
LEAST_STUCK = 24
# Series that are looked at closely; if there are more, this many of them, evenly spread.
LOOKED_AT = 500
# A column is a copy of the target if it has the same values, or follows them this closely.
COPY = 0.9999
FARTHEST_COPY = 400
LEAST_COMPARED, COMPARED = 20, 5000


@dataclass(frozen=True)
class Lengths:
    """How many values a model looks back at, and how many it forecasts; 0 if it is not known."""

    context: int = 0
    horizon: int = 0


@dataclass(frozen=True)
class Looked:
    """A table, and what all checks ask of it."""

    table: SeriesTable
    lengths: Lengths
    name: str

    @cached_property
    def season(self) -> Season:
        return season_of(self.table)

    @cached_property
    def some(self) -> list[Series]:
        return spread(self.table.series, LOOKED_AT)

    @property
    def total(self) -> int:
        return sum(map(len, self.table.series))

    def example(self, series: Series, at: int, *texts: str) -> Example:
        time = self.table.clock.labels(series.start, at + 1)[-1]
        return Example(f"{series.name}, {time}", texts or (number(series.values[at]),))


def findings_of(looked: Looked) -> Iterator[Finding]:
    for check in (short, constant, copies, missing, known, scales, marks, jumps, stuck, ends):
        yield from check(looked)


def short(looked: Looked) -> Iterator[Finding]:
    """Series that are too short to learn from."""
    series, lengths = looked.table.series, looked.lengths
    if looked.total < FEW_VALUES:
        yield Finding(
            "few",
            "warning",
            f"{looked.name}: {looked.total} values are hardly enough to learn from",
            "give more of the past",
        )
    needed = lengths.context + lengths.horizon
    wanting = [each for each in series if len(each) < max(needed, 2)]
    if not wanting:
        return
    all_of_them = len(wanting) == len(series)
    than = f"a horizon of {lengths.horizon} and a context of {lengths.context} need"
    yield Finding(
        "short",
        "error" if all_of_them else "warning",
        f"{share(len(wanting), len(series))} series have "
        + (f"fewer values than the {needed} that {than}" if needed else "a single value"),
        "give more of the past, or shorten the horizon" if all_of_them else "they teach little",
        tuple(looked.example(each, 0, f"{len(each)} values") for each in wanting[:EXAMPLES]),
    )


def constant(looked: Looked) -> Iterator[Finding]:
    series = looked.table.series
    found = [
        each
        for each in series
        if len(each) > 1 and np.nanmax(each.values) == np.nanmin(each.values)
    ]
    if not found:
        return
    all_of_them = len(found) == len(series)
    yield Finding(
        "constant",
        "error" if all_of_them else "warning",
        f"{share(len(found), len(series))} series always have the same value"
        + (", so there is nothing to forecast" if all_of_them else ""),
        "check that this is the column that was meant" if all_of_them else "leave them out",
        tuple(looked.example(each, 0) for each in found[:EXAMPLES]),
    )


def copies(looked: Looked) -> Iterator[Finding]:
    """Columns that are known in advance, and are the target itself."""
    horizon = looked.lengths.horizon
    for number_, name in enumerate(looked.table.known_names):
        series = max(looked.some, key=len)
        column = series.known[: len(series), number_]
        lag = copied(series.values[-COMPARED:], column[-COMPARED:])
        if lag is None:
            continue
        if lag < 0:
            where = f"the target {-lag} steps earlier, which nobody knows beyond {-lag} steps"
        else:
            where = "the target itself" if not lag else f"the target {lag} steps later"
        honest = lag < 0 and -lag >= horizon > 0
        yield Finding(
            "leak",
            "note" if honest else "error",
            f"the column {name}, which is to be known in advance, is {where}",
            "" if honest else f"leave {name} out of what is known",
        )


def copied(values: Floats, column: Floats) -> int | None:
    """How many steps later a column has the values of the target, or nearly; None if it has not."""
    farthest = min(FARTHEST_COPY, len(values) // 3)
    for lag in sorted(range(-farthest, farthest + 1), key=abs):
        one = values[max(0, lag) : len(values) + min(0, lag)]
        other = column[max(0, -lag) : len(column) - max(0, lag)]
        both = ~(np.isnan(one) | np.isnan(other))
        if both.sum() < LEAST_COMPARED:
            continue
        x, y = one[both], other[both]
        if x.std() == 0 or y.std() == 0 or len(np.unique(y[:1000])) < 5:
            continue
        if abs(float(np.corrcoef(x, y)[0, 1])) > COPY:
            return lag
    return None


def missing(looked: Looked) -> Iterator[Finding]:
    series, total = looked.table.series, looked.total
    count = sum(each.missing for each in series)
    if count <= MISSING_ODD * total:
        return
    worst = sorted(series, key=lambda each: each.missing / len(each), reverse=True)[:EXAMPLES]
    yield Finding(
        "missing",
        "warning",
        f"{share(count, total)} values are missing between the first and the last of their series",
        "nothing is learned from them; take a longer step with --every if most rows are sparse",
        tuple(Example(each.name, (share(each.missing, len(each)),)) for each in worst),
    )


def known(looked: Looked) -> Iterator[Finding]:
    """Columns that are known in advance, where they are not known."""
    table, horizon = looked.table, looked.lengths.horizon
    for number_, name in enumerate(table.known_names):
        columns = [each.known[: len(each), number_] for each in table.series]
        gaps = sum(int(np.isnan(column).sum()) for column in columns)
        if gaps:
            yield Finding(
                "known-missing",
                "warning",
                f"{name} is missing in {share(gaps, looked.total)} rows with a value",
                "fill it in: what is known in advance has no gaps",
            )
    least = min(each.future for each in table.series)
    if table.known_names and least < horizon:
        yield Finding(
            "known-ends",
            "note",
            f"{', '.join(table.known_names)} {'are' if len(table.known_names) > 1 else 'is'} known"
            f" for {least} steps after the last value, and a forecast needs {horizon}",
            "to forecast from the end of this table, append rows without a value that have it",
        )


def scales(looked: Looked) -> Iterator[Finding]:
    sizes = [(float(np.nanmedian(np.abs(each.values))), each) for each in looked.some]
    sizes = sorted(((size, each) for size, each in sizes if size > 0), key=lambda pair: pair[0])
    if not sizes or sizes[-1][0] < SCALES_APART * sizes[0][0]:
        return
    ends = (sizes[0], sizes[-1])
    yield Finding(
        "scales",
        "warning",
        f"{looked.name}: the values of some series are {sizes[-1][0] / sizes[0][0]:.0e} times as"
        " large as those of others",
        "check that all have the same unit; each is scaled by itself when it is learned",
        tuple(Example(each.name, (f"typically {number(size)}",)) for size, each in ends),
    )


def marks(looked: Looked) -> Iterator[Finding]:
    """Numbers that stand for a missing value: -999 far below all others."""
    found: list[Example] = []
    count = 0
    for series in looked.some:
        values = series.values[~np.isnan(series.values)]
        for mark in MARKS:
            same = values == mark
            others = values[~same]
            if not same.any() or len(others) < LEAST_COMPARED or same.mean() > 0.5:
                continue
            reach = np.ptp(others)
            apart = others.min() - mark if mark < others.min() else mark - others.max()
            if apart > 0.5 * reach and reach > 0:
                count += int(same.sum())
                found.append(looked.example(series, int(np.argmax(series.values == mark))))
    if found:
        yield Finding(
            "marks",
            "warning",
            f"{count:,} values are far from all others and look like a mark for a missing value",
            "leave such cells empty",
            tuple(found[:EXAMPLES]),
        )


def jumps(looked: Looked) -> Iterator[Finding]:
    """Changes that are far larger than nearly all others."""
    found: list[tuple[float, Series, int]] = []
    for series in looked.some:
        changes = np.abs(np.diff(series.values))
        there = changes[~np.isnan(changes)]
        if len(there) < FEW_VALUES:
            continue
        if usual := float(np.quantile(there, 0.99)):
            large = np.flatnonzero(np.nan_to_num(changes) > JUMP * usual)
            found += [(float(changes[at] / usual), series, int(at) + 1) for at in large]
    if found:
        found.sort(key=lambda each: each[0], reverse=True)
        yield Finding(
            "jumps",
            "warning",
            f"{len(found):,} changes are more than {JUMP:.0f} times as large as 99 % of the changes"
            " of their series",
            "check that these values are real, and leave the cell empty where they are not",
            tuple(
                looked.example(
                    each, at, f"{number(each.values[at - 1])} → {number(each.values[at])}"
                )
                for _, each, at in found[:EXAMPLES]
            ),
        )


def stuck(looked: Looked) -> Iterator[Finding]:
    """Values that stay the same for long, as those of a broken sensor do."""
    most = max(LEAST_STUCK, STUCK_SEASONS * looked.season.length)
    found: list[tuple[int, Series, int]] = []
    for series in looked.some:
        edges = np.flatnonzero(np.r_[True, np.diff(series.values) != 0, True])
        lengths = np.diff(edges)
        if len(lengths) < 2:
            continue
        at = int(np.argmax(lengths))
        changes = 1 - lengths.max() / len(series)
        if lengths[at] >= most and changes > 0.2 and np.median(lengths) < 3:
            found.append((int(lengths[at]), series, int(edges[at])))
    if found:
        found.sort(key=lambda each: each[0], reverse=True)
        yield Finding(
            "stuck",
            "warning",
            f"{share(len(found), len(looked.some))} series stay at one value for {most} steps or"
            " more, though they usually change",
            "leave these cells empty if nothing was measured",
            tuple(
                looked.example(each, at, f"{number(each.values[at])} for {length:,} steps")
                for length, each, at in found[:EXAMPLES]
            ),
        )


def ends(looked: Looked) -> Iterator[Finding]:
    """Series that end before the others, from where they would be forecast."""
    table = looked.table
    if len(table) < 2 or not table.has_times:
        return
    last = [int(table.times(each)[-1]) for each in looked.some]
    early = [each for each, time in zip(looked.some, last, strict=True) if time < max(last)]
    if early:
        yield Finding(
            "ends",
            "note",
            f"{share(len(early), len(last))} series end before the last time of the table, and a"
            " forecast of each starts at its own end",
            examples=tuple(looked.example(each, len(each) - 1) for each in early[:EXAMPLES]),
        )


def number(value: float) -> str:
    """A value for people: 4382.83, missing."""
    return "missing" if np.isnan(value) else f"{value:.6g}"
