"""Finds the columns of a table of series by what they hold: times, ids, and values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Literal

from regard.data.columns import layout_of, place_of
from regard.data.lines import kind_of
from regard.data.objects import OBJECTS
from regard.data.samples import SAMPLE_LINES, Sample
from regard.data.series import SeriesColumns
from regard.data.series_columns import LOOKED_AT, SeriesColumn, are_dates, asked_column, counted
from regard.data.tables import rows_of
from regard.data.time_forms import has_clock, looks_like_time
from regard.errors import DataError

TIME_NAMES = (
    *("ds", "date", "datetime", "date_time", "time", "timestamp", "dt", "t", "ts", "period"),
    *("day", "week", "month", "quarter", "year", "index", "step"),
)
# Parts of names that only columns of times have.
IN_TIME_NAMES = ("date", "time", "datum", "zeit", "fecha")
ID_NAMES = (
    *("unique_id", "id", "series_id", "series", "item_id", "ts_id", "sensor", "sensor_id", "meter"),
    *("meter_id", "station", "device", "machine", "site", "location", "store", "shop", "item"),
    *("product", "household", "customer", "region", "country", "city", "symbol", "ticker", "name"),
)
TARGET_NAMES = ("y", "value", "values", "target")
INDEX_NAMES = ("", "unnamed: 0", "index", "row", "no", "nr")
CALENDAR = ("year", "month", "day", "hour", "minute")
HOURS = ("hour", "hr")
# How often times must occur, on average, in a table of several series.
AT_LEAST_TWO = 1.5
# Columns of which any two may name series together.
MOST_PAIRED = 12
# Names of columns in a remark.
MOST_SHOWN = 5
SETTINGS = ("target", "time", "id", "known")
Shape = Literal["columns", "ids", "rows"]


@dataclass
class ColumnSearch:
    """Finds the columns one after the other; each is found among those that are left."""

    sample: Sample
    header: bool
    columns: list[SeriesColumn]
    time: tuple[int, ...] = ()
    id: tuple[int, ...] = ()
    target: tuple[int, ...] = ()
    known: tuple[int, ...] = ()
    reasons: list[str] = field(default_factory=list)

    def say(self, reason: str) -> None:
        self.reasons.append(reason)

    def decide(self, wanted: SeriesColumns) -> Shape:
        for setting in SETTINGS:
            found = [
                asked_column(each, self.columns, place_of(self.sample), setting)
                for each in getattr(wanted, setting)
            ]
            setattr(self, setting, tuple(found))
        self._refuse_twice()
        if not self.time:
            self._find_time()
        if not self.time and self._find_rows():
            return "rows"
        self.time = self.time or self._unread_times()
        if not self.id and self.time:
            self._find_id()
        if not self.target:
            self._find_target()
        if not self.time:
            self.say("there is no column of times, so rows are counted from 0")
        return "ids" if self.id else "columns"

    def _refuse_twice(self) -> None:
        taken = Counter(at for setting in SETTINGS for at in getattr(self, setting))
        for at, times in taken.items():
            if times > 1:
                settings = [each for each in SETTINGS if at in getattr(self, each)]
                raise DataError(
                    f"{place_of(self.sample)}: column {self._listed([at])} is given as"
                    f" {' and '.join(settings)}; give it as one of them"
                )

    @property
    def left(self) -> list[SeriesColumn]:
        taken = {*self.time, *self.id, *self.target, *self.known}
        return [column for column in self.columns if column.number not in taken]

    def _listed(self, numbers: Sequence[int]) -> str:
        names = [self.columns[at].name or f"{at + 1}" for at in numbers]
        return ", ".join(names[:MOST_SHOWN]) + ", …" * (len(names) > MOST_SHOWN)

    def _find_time(self) -> None:
        left = self.left
        written = [column for column in left if column.is_time]
        if written:
            best = max(written, key=lambda column: column.distinct)
            self.time = (best.number, *self._time_of_day(best))
        else:
            self.time = self._calendar() or self._numbers_as_times()
        if self.time:
            self.say(f"the time is column {self._listed(self.time)}")

    def _time_of_day(self, day: SeriesColumn) -> tuple[int, ...]:
        """The column with the time of day, where that of the day has none and repeats itself."""
        if day.distinct == len(day.values) or any(map(has_clock, day.values)):
            return ()
        clocks = [column for column in self.left if column.is_clock]
        hours = [
            column
            for column in self.left
            if column.name.lower() in HOURS and _within(column.whole_numbers, 0, 24)
        ]
        return tuple(column.number for column in (*clocks, *hours)[:1])

    def _calendar(self) -> tuple[int, ...]:
        """Columns of the year, the month and so on; a year alone is a time of its own."""
        by_name = {column.name.lower(): column for column in self.left if column.whole_numbers}
        found = []
        for name in CALENDAR:
            if name not in by_name:
                break
            found.append(by_name[name].number)
        return tuple(found) if len(found) > 1 else ()

    def _numbers_as_times(self) -> tuple[int, ...]:
        """A column of numbers that run on: years, seconds since 1970, numbers of rows."""
        for column in self.left:
            named = column.name.lower() in TIME_NAMES
            first = column.number == 0
            if not (named or first) or len(self.columns) < 2:
                continue
            if _runs_on(column, named) or _since_1970(column):
                return (column.number,)
        return ()

    def _find_rows(self) -> bool:
        """Whether each row is a series: dates or counted names above the values, or none, and a
        name that no other row has.
        """
        if self.target or self.known:
            return False
        left = self.left
        dated = [c for c in left if c.name.isdecimal() or looks_like_time(c.name)]
        has_dates = are_dates([column.name for column in dated])
        numbers = [column for column in left if column.is_number or column.is_empty]
        values = [column.number for column in (dated if has_dates else numbers)]
        taken = {*values}
        texts = [column for column in left if column.is_text and column.number not in taken]
        count = min(len(self._rows), LOOKED_AT)
        unique = [column for column in texts if column.distinct == count]
        names = [self.columns[at].name for at in values]
        is_rows = has_dates or (bool(unique) and not self.header)
        if counted(names):
            is_rows |= bool(self.id) or any(2 * c.distinct > len(c.values) for c in texts)
        elif self.id:
            is_rows |= len({self._cells(row, self.id) for row in self._rows}) == len(self._rows)
        if not is_rows or len(values) < 2:
            return False
        self.id = self.id or tuple(column.number for column in unique[:1] or texts)
        self.target = tuple(values)
        named = f", named by column {self._listed(self.id)}" if self.id else ""
        self.say(f"each row is a series of up to {len(values)} values{named}")
        return True

    def _unread_times(self) -> tuple[int, ...]:
        """A column that is named as one of times, although its texts are none that can be read."""
        texts = [column for column in self.left if column.is_text]
        found = [c.number for c in texts if c.name.lower() in TIME_NAMES]
        found += [c.number for c in texts if any(each in c.name.lower() for each in IN_TIME_NAMES)]
        return tuple(found[:1])

    def _find_id(self) -> None:
        """A column that tells series apart, so that none has a time twice; or one that says so by
        its name, or is a text that stays the same.
        """
        left = [column for column in self.left if not column.is_empty]
        named = [
            column for column in left if column.name.lower() in ID_NAMES and not column.is_time
        ]
        texts = [column for column in left if column.is_text and not column.is_yes_or_no]
        few = [c for c in left if c.whole_numbers and 2 * c.distinct <= len(c.values)]
        times = [self._cells(row, self.time) for row in self._rows]
        # A few times that occur twice are a mistake, and no column should explain it away.
        often = AT_LEAST_TWO * len(set(times)) <= len(times)
        found = (*named, *texts, *few) if often else named
        candidates = list({column.number: None for column in found})
        if len(set(times)) < len(times):
            rows, singles = self._rows, combinations(candidates, 1)
            for chosen in (*singles, *combinations(candidates[:MOST_PAIRED], 2)):
                pairs = {self._cells(row, (*self.time, *chosen)) for row in rows}
                if len(pairs) == len(times):
                    self.id = chosen
                    self.say(f"each value of column {self._listed(chosen)} is a series")
                    return
            return
        # The rest of a long table may have other values.
        longer = len(self.sample.rows) >= SAMPLE_LINES
        steady = [column.number for column in texts if column.distinct == 1 and longer]
        by_name = [
            column.number
            for column in named
            if column in texts or 2 * column.distinct <= len(times)
        ]
        if chosen := tuple([*by_name, *steady][:1]):
            self.id = chosen
            self.say(f"each value of column {self._listed(chosen)} is a series")

    def _find_target(self) -> None:
        left = self.left
        numbers = [column for column in left if column.is_number]
        if len(numbers) > 1:
            numbers = [column for column in numbers if not _is_index(column)]
        chosen = {column.number for column in numbers}
        others = [column.number for column in left if column.number not in chosen]
        if not numbers:
            if kind_of(self.sample.path) not in OBJECTS:
                for _ in rows_of(self.sample.path, layout_of(self.sample, self.header, (), (), "")):
                    pass  # a row that cannot be read says more
            raise DataError(
                f"{place_of(self.sample)}: no column holds numbers beside times and ids; name the"
                " column to forecast with --target"
            )
        if self.id and len(numbers) > 1:
            found = [column for column in numbers if column.name.lower() in TARGET_NAMES]
            if len(found) != 1:
                listed = self._listed([column.number for column in numbers])
                raise DataError(
                    f"{place_of(self.sample)}: any of the columns {listed} may be the one to"
                    " forecast; name it with --target"
                )
            others += [column.number for column in numbers if column is not found[0]]
            numbers = found
        self.target = tuple(column.number for column in numbers)
        if len(numbers) > 1:
            self.say(
                f"the {len(numbers)} columns {self._listed(self.target)} are a series each, as all"
                " hold numbers; --target chooses"
            )
        if others:
            self.say(f"left out: {self._listed(others)}; --known takes what is known in advance")

    @property
    def _rows(self) -> list[list[str]]:
        return [row for row in self.sample.rows[self.header :] if any(row)]

    @staticmethod
    def _cells(row: list[str], numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple(row[at] if at < len(row) else "" for at in numbers)


def _within(numbers: Sequence[int], least: int, most: int) -> bool:
    return bool(numbers) and least <= min(numbers) and max(numbers) <= most


def _is_index(column: SeriesColumn) -> bool:
    """Whether a column only counts rows."""
    steps = {b - a for a, b in pairwise(column.whole_numbers)}
    return column.name.lower() in INDEX_NAMES and steps == {1}


def _since_1970(column: SeriesColumn) -> bool:
    """Whether numbers with fractions are seconds since 1970."""
    return column.is_number and not column.whole_numbers and are_dates(column.values)


def _runs_on(column: SeriesColumn, named: bool) -> bool:
    """Whether whole numbers are times: most steps are the same, or their digits are dates."""
    numbers = column.whole_numbers
    steps = Counter(b - a for a, b in pairwise(numbers) if b != a)
    if not steps:
        return False
    step, times = steps.most_common(1)[0]
    if named and step > 0 and 2 * times >= steps.total():
        return True
    if min(steps) < 0:
        return False
    return len(steps) == 1 or are_dates(column.values)
