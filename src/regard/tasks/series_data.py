"""Series as a task learns from them: read once, laid out in windows, and split by time."""

import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.configs.series import SeriesSizes
from regard.data.series import Series, SeriesTable
from regard.data.series_arrays import last_part, load_table, save_table
from regard.data.series_tables import SeriesColumns, SeriesReading, read_series
from regard.data.steps import Step
from regard.errors import DataError
from regard.files import write_file
from regard.run import Run
from regard.tasks.series_sections import SeriesSection
from regard.training.events import Event, Note, Phase

if TYPE_CHECKING:
    from regard.data.series_windows import LaidOut, Windows
    from regard.layers.choices import Scaling

# All series in the folder of the training data, and the end of each in that of the run.
TABLE = "series.safetensors"
YEAR = "day of year"
# The most windows to learn from, and to validate on. Of more, some are left out between the others.
MOST_WINDOWS, MOST_VALID = 4_000_000, 2_000


def read_table(
    data: SeriesSection, paths: Sequence[Path] | None = None, step: Step | None = None
) -> SeriesTable:
    """The table of a recipe, or other files that are read as it was, with the step that it had."""
    columns = SeriesColumns(data.target, data.time, data.id, data.known)
    reading = SeriesReading(data.every, data.zone, data.dates, step)
    return read_series(data.paths("train") if paths is None else paths, columns, reading)


def prepared(run: Run, data: SeriesSection) -> Generator[Event, None, SeriesTable]:
    """The series of a run; the first start reads them."""
    folder = run.training / "data"
    if run.has_data():
        return load_table(folder / TABLE)
    yield Phase("Reading the series")
    table = read_table(data)
    yield from map(Note, table.remarks)
    split = Split.of(table, data)
    folder.mkdir(parents=True, exist_ok=True)
    save_table(table, folder / TABLE)
    # What a forecast without newer data starts from.
    save_table(last_part(table, data.context), run.folder / TABLE)
    begins = {
        each.name: int(table.clock.times(each.start, end + 1)[-1])
        for each, end in zip(table.series, split.ends.tolist(), strict=True)
    }
    for name, facts in (("valid", {"begins": begins}), ("train", {"series": len(table)})):
        write_file(folder / f"{name}.json", json.dumps(facts).encode())
    return table


def sizes_of(data: SeriesSection, table: SeriesTable) -> SeriesSizes:
    columns = known_columns(table.series[0], table, data, 0).shape[1]
    return SeriesSizes(data.context, data.horizon, columns, data.season)


def known_columns(
    series: Series, table: SeriesTable, data: SeriesSection, more: int
) -> NDArray[np.float64]:
    """The columns that are known in advance, and where each step is in the day, the week and the
    year, [T + more, K]; NaN where that is not known.
    """
    steps = len(series) + more
    known = np.full((steps, series.known.shape[1]), np.nan)
    there = series.known[:steps]
    known[: len(there)] = there
    names, phases = table.clock.phases(series.start, steps)
    wanted = calendar_names(table, data)
    angles = 2 * np.pi * phases[:, [at for at, name in enumerate(names) if name in wanted]]
    return np.concatenate((known, np.sin(angles), np.cos(angles)), 1)


def calendar_names(table: SeriesTable, data: SeriesSection) -> list[str]:
    """The parts of the calendar that a model knows, such as the hour of the day."""
    if data.calendar == "none":
        return []
    names = table.clock.phases(table.series[0].start, 1)[0]
    return [name for name in names if data.calendar == "year" or name != YEAR]


def laid_out(table: SeriesTable, data: SeriesSection) -> "LaidOut":
    from regard.data.series_windows import LaidOut

    return LaidOut.of(
        [(each.values, known_columns(each, table, data, data.horizon)) for each in table.series],
        data.context,
        data.horizon,
    )


def newer_steps(learned: SeriesTable | None, table: SeriesTable, context: int) -> NDArray[np.int64]:
    """Where in each series of a table the time begins that is after the end of what a model has
    learned from; the end of the series if that end is not known.
    """
    if learned is None:
        return np.array([len(each) for each in table.series])
    ends = {each.name: int(learned.times(each)[-1]) for each in learned.series}
    latest = max(ends.values())
    return np.array(
        [
            np.searchsorted(table.times(each), ends.get(each.name, latest), side="right")
            if table.has_times or each.name in ends
            else min(context, len(each))  # another series, which nothing was learned from
            for each in table.series
        ]
    )


def nothing_there(table: SeriesTable, data: SeriesSection) -> DataError:
    """The error for series of which no part has a past and a future."""
    return DataError(
        f"{table.series[0].name}: no window of the series has values both before and in its "
        f"{data.horizon} steps; give more of the past, or a smaller --horizon"
    )


@dataclass(frozen=True)
class Split:
    """Where the part that is held out begins in each series."""

    lengths: NDArray[np.int64]
    ends: NDArray[np.int64]  # steps to learn from
    horizon: int
    context: int

    @classmethod
    def of(cls, table: SeriesTable, data: SeriesSection) -> "Split":
        lengths = np.array([len(each) for each in table.series], np.int64)
        held_out = np.maximum(data.horizon, (data.held_out_share * lengths).round()).astype(int)
        split = cls(lengths, (lengths - held_out).clip(0), data.horizon, data.context)
        if not (split.last > 0).any():
            needed = 2 * data.horizon + 1
            raise DataError(
                f"{table.series[0].name}: the longest series has {lengths.max():,} values, too few "
                f"to learn {data.horizon} steps ahead and to hold as many out; give at least "
                f"{needed:,}, or a smaller --horizon"
            )
        return split

    @property
    def last(self) -> NDArray[np.int64]:
        """Where the last future to learn from begins; 0 or less if a series is too short."""
        return self.ends - self.horizon

    @property
    def first(self) -> NDArray[np.int64]:
        """Where the first one begins: after a whole context, or after half of a short series."""
        return np.minimum(self.context, np.maximum(1, self.last // 2))

    @property
    def every(self) -> int:
        """The number of steps from the start of one training window to that of the next."""
        return max(1, -(-int((self.last - self.first + 1).clip(0).sum()) // MOST_WINDOWS))

    @property
    def count(self) -> int:
        """Windows to learn from; fewer are left where there are long gaps."""
        return int(((self.last - self.first) // self.every + 1).clip(0).sum())

    def train(self, laid: "LaidOut", scaling: "Scaling") -> "Windows":
        from regard.data.series_windows import Windows

        every = self.every
        return Windows(laid, laid.places(self.first, self.last, every), scaling)

    def valid(self, laid: "LaidOut", season: int, scaling: "Scaling") -> "Windows":
        """Windows whose future is in the part that is held out, evenly over it, and beginning at
        every part of the season.
        """
        from regard.data.series_windows import Windows

        last = self.lengths - self.horizon
        count = int((last - self.ends + 1).clip(0).sum())
        every = -(-count // MOST_VALID)
        while np.gcd(every, season) > 1:
            every += 1
        return Windows(laid, laid.places(self.ends.clip(1), last, every), scaling)
