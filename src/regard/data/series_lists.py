"""A series as lists of numbers, as a request holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regard.data.series import Floats, SeriesReading, SeriesTable
from regard.data.series_grid import gridded
from regard.data.series_rows import SeriesRows
from regard.data.series_times import placed
from regard.data.steps import Clock
from regard.data.time_texts import ReadTimes, read_times
from regard.data.zones import checked_zone, clock_changes
from regard.errors import DataError, shown

NAME = "series"
# Ten thousand years, in seconds.
LONGEST = 3.2e11


@dataclass(frozen=True)
class SeriesLists:
    """A value and what is known for each time; None where one is missing.

    Times and what is known may be longer than the values: then they reach into the future. Without
    times, the values are a step apart from `start` on.
    """

    values: Sequence[float | None]
    known: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    times: Sequence[str] = ()
    start: str = ""

    @property
    def length(self) -> int:
        """Of the longest list."""
        return max(map(len, (self.values, self.times, *self.known.values())))


def listed_table(lists: SeriesLists, clock: Clock, dates: str = "") -> SeriesTable:
    """The table of one series.

    Parameters
    ----------
    lists
        The series.
    clock
        The step from one value to the next, and the zone of times without an offset.
    dates
        What comes first in dates like 01/02/2024.

    Raises
    ------
    DataError
        The lists are not of the same length, or the times cannot be read.
    """
    length = lists.length
    times = [("times", lists.times)] if lists.times else []
    for name, found in (*times, *lists.known.items()):
        if len(found) < length:
            raise DataError(
                f"{name}: {len(found):,} values, and {length:,} in the longest list; give one for "
                "each value of series, and as many more in each list"
            )
    values = numbers(lists.values, length)
    given = sum(each is not None and each == each for each in lists.values)
    known = [numbers(each, length) for each in lists.known.values()]
    rows = SeriesRows(
        [""],
        np.zeros(length, np.int64),
        _times(lists, clock, dates, length),
        (NAME,),
        values[:, None],
        np.stack(known, 1) if known else np.zeros((length, 0)),
        given - int((~np.isnan(values)).sum()),
        lambda row: f"times:{row + 1}" if lists.times else NAME,
    )
    return gridded(rows, tuple(lists.known), SeriesReading(zone=clock.zone, step=clock.step))


def numbers(values: Sequence[float | None], length: int) -> Floats:
    """As an array of this length; NaN where a value is missing or infinite."""
    result = np.full(length, np.nan)
    result[: len(values)] = [np.nan if each is None else _as_float(each) for each in values]
    result[np.isinf(result)] = np.nan
    return result


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number may have any size
        return np.inf


def _times(lists: SeriesLists, clock: Clock, dates: str, length: int) -> ReadTimes:
    if lists.times:
        return read_times(
            [each.strip() for each in lists.times], lambda at: f"times:{at + 1}", dates
        )
    if clock.step.seconds * length > LONGEST:
        raise DataError(f"step {clock.step}: that is too long for {length:,} values")
    start = read_times([lists.start.strip()], lambda at: "start", dates)
    of_a_place = start.offsets is None and clock.zone and clock.step.unit == "microsecond"
    if of_a_place and (clock_changes(start.times, clock.zone) > 0).any():
        raise DataError(
            f"start: {shown(lists.start)} does not exist in {clock.zone}, where clocks are put "
            "forward; give another time, or its offset from UTC"
        )
    first = SeriesRows(
        *([""], np.zeros(1, np.int64), start, (NAME,)),
        *(np.zeros((1, 1)), np.zeros((1, 0)), 0, lambda at: "start"),
    )
    found = placed(first, checked_zone(clock.zone))
    times = Clock(clock.step, found.zone).times(int(found.utc[0]), length)
    return ReadTimes(times, np.zeros_like(times) if found.zone else None, start.kind)
