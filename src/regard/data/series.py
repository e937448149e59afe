"""Series of real numbers at equal steps of time, as tables are read into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from regard.data.steps import Clock, Step
from regard.data.zones import Times

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """Values at equal steps of time.

    The time of each follows from the start and the table's clock, so that a missing value is NaN
    and never moves the others. The first and the last value are not missing.

    Attributes
    ----------
    name : str
        The id of the series, or the name of its column.
    start : int
        The time of the first value: microseconds since 1970 in UTC, or the number of a row.
    values : array of float, [T]
        NaN where a value is missing.
    known : array of float, [T + future, K]
        What is known in advance, such as holidays: one row for each value, and further rows for as
        many later times as the table has. NaN where it is missing.
    """

    name: str
    start: int
    values: Floats
    known: Floats

    def __len__(self) -> int:
        return len(self.values)

    @property
    def future(self) -> int:
        """How many times after the last value have rows of what is known in advance."""
        return len(self.known) - len(self.values)

    @property
    def missing(self) -> int:
        """How many values are missing between the first and the last."""
        return int(np.isnan(self.values).sum())


@dataclass(frozen=True)
class SeriesTable:
    """Series that share their step, their zone and what is known of them in advance.

    Attributes
    ----------
    series : list of Series
        In the order of the table.
    clock : Clock
        The step and the zone: `clock.times(start, count)`, `clock.phases(start, count)`.
    target : str
        What the values are: the name of the column; "" where columns or rows are series.
    known_names : tuple of str
        The columns that are known in advance, as the columns of `Series.known`.
    remarks : list of str
        How the table was read, and why: a sentence for each choice, gap and omission.
    """

    series: Sequence[Series]
    clock: Clock
    target: str = ""
    known_names: tuple[str, ...] = ()
    remarks: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.series)

    def __getitem__(self, name: str) -> Series:
        """The series of this name; a KeyError if there is none."""
        for each in self.series:
            if each.name == name:
                return each
        raise KeyError(name)

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.series]

    @property
    def has_times(self) -> bool:
        """Whether the table has times; without them, rows are counted."""
        return self.clock.step.unit != "row"

    def times(self, series: Series, more: int = 0) -> Times:
        """The times of a series' values, and of `more` steps after them, as in `Clock.times`."""
        return self.clock.times(series.start, len(series) + more)


@dataclass(frozen=True)
class SeriesColumns:
    """The columns that a person has named, or numbered from 1; () leaves the choice to the reader.

    Several columns of time are a date and a time of day; several ids make one name together.
    """

    target: tuple[str | int, ...] = ()
    time: tuple[str | int, ...] = ()
    id: tuple[str | int, ...] = ()
    known: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class SeriesReading:
    """How times are read.

    Attributes
    ----------
    every : str
        A longer step, of which means are taken: "1h".
    zone : str
        The zone of times without an offset: "Europe/Berlin". Hours of the day are in this zone.
    dates : str
        What comes first in dates like 01/02/2024: "day-first", "month-first" or "year-first".
    step : Step or None
        The step of data that this continues, where its own rows fit it.
    """

    every: str = ""
    zone: str = ""
    dates: str = ""
    step: Step | None = None
