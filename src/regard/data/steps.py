"""Steps from one value of a series to the next, and the times that they lead to.

A step of seconds, minutes or hours is always as long as itself. Days, weekdays, months, quarters
and years follow the calendar of a place, where a day may have 23 or 25 hours. A table without times
counts its rows.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regard.data.zones import DAY, FIRST, HOUR, LAST, MINUTE, SECOND, Times, to_local, to_utc
from regard.errors import DataError

Unit = Literal["row", "microsecond", "day", "weekday", "month", "month-end"]

# What a person may write, and how many of which unit it is.
_WORDS: dict[str, tuple[int, Unit]] = {
    **dict.fromkeys(("row", "rows"), (1, "row")),
    **dict.fromkeys(("us", "microsecond", "microseconds"), (1, "microsecond")),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), (1000, "microsecond")),
    **dict.fromkeys(("s", "sec", "second", "seconds"), (SECOND, "microsecond")),
    **dict.fromkeys(("m", "min", "minute", "minutes"), (MINUTE, "microsecond")),
    **dict.fromkeys(("h", "hour", "hours"), (HOUR, "microsecond")),
    **dict.fromkeys(("d", "day", "days"), (1, "day")),
    **dict.fromkeys(("w", "week", "weeks"), (7, "day")),
    **dict.fromkeys(("weekday", "weekdays"), (1, "weekday")),
    **dict.fromkeys(("mo", "month", "months"), (1, "month")),
    **dict.fromkeys(("month-end", "month-ends"), (1, "month-end")),
    **dict.fromkeys(("q", "quarter", "quarters"), (3, "month")),
    **dict.fromkeys(("y", "year", "years"), (12, "month")),
}
_STEP = re.compile(r"(\d{0,9})\s*([a-zA-Z-]+)")
# Names of fixed lengths, the longest first.
_FIXED = ((HOUR, "h"), (MINUTE, "min"), (SECOND, "s"), (1000, "ms"), (1, "us"))


@dataclass(frozen=True)
class Step:
    """How far it is from one value to the next: 30 minutes, a day, a month."""

    count: int
    unit: Unit

    @classmethod
    def parse(cls, text: str) -> Step:
        """The step of "30min", "1h", "1d", "1month"."""
        found = _STEP.fullmatch(text.strip())
        # Elsewhere, M is a month and m a minute: too small a difference to act on.
        if found and found[2] != "M" and found[2].lower() in _WORDS and found[1] != "0":
            times, unit = _WORDS[found[2].lower()]
            return cls(times * int(found[1] or 1), unit)
        raise DataError(
            f"every {text}: this is no length of time; write one like 10s, 15min, 1h, 1d, 1week or"
            " 1month"
        )

    def __str__(self) -> str:
        if self.unit == "microsecond":
            size, name = next(each for each in _FIXED if self.count % each[0] == 0)
            return f"{self.count // size}{name}"
        if self.unit == "day":
            return f"{self.count // 7}week" if self.count % 7 == 0 else f"{self.count}d"
        if self.unit == "month":
            if self.count % 12 == 0:
                return f"{self.count // 12}year"
            return f"{self.count // 3}quarter" if self.count % 3 == 0 else f"{self.count}month"
        return f"{self.count}{self.unit}"

    @property
    def seconds(self) -> float:
        """Its length, on average; 1 for a row."""
        match self.unit:
            case "row":
                return self.count
            case "microsecond":
                return self.count / SECOND
            case "day":
                return self.count * 86_400
            case "weekday":
                return self.count * 86_400 * 7 / 5
        return self.count * 86_400 * 365.2425 / 12

    def local_times(self, start: int, count: int) -> Times:
        """The times of `count` values from `start` on, on a calendar without changes of clocks."""
        steps = self.count * np.arange(count, dtype=np.int64)
        match self.unit:
            case "row" | "microsecond":
                return start + steps
            case "day":
                return start + steps * DAY
            case "weekday":
                first = np.datetime64(start // DAY, "D")
                days = np.busday_offset(first, steps, roll="forward").astype(np.int64)
                return days * DAY + start % DAY
        return _months(start, steps, end=self.unit == "month-end")


def _months(start: int, steps: Times, end: bool) -> Times:
    """The same day of later months, or their last day if they are shorter or `end` says so."""
    day = start // DAY
    month = np.datetime64(day, "D").astype("datetime64[M]")
    in_month = int(
        np.datetime64(day, "D").astype(np.int64) - month.astype("datetime64[D]").astype(np.int64)
    )
    months = month + steps
    firsts = months.astype("datetime64[D]").astype(np.int64)
    lasts = (months + 1).astype("datetime64[D]").astype(np.int64) - 1
    days = lasts if end else np.minimum(firsts + in_month, lasts)
    result: Times = days * DAY + start % DAY
    return result


@dataclass(frozen=True)
class Clock:
    """The times of a table: its step, and the zone of the place ("" if nobody has named it)."""

    step: Step
    zone: str = ""

    def holds(self, start: int, count: int) -> bool:
        """Whether a datetime can hold the times of `count` values from `start` on; for rows,
        whether their numbers are exact as floats.
        """
        last = start + self.step.seconds * count * (1 if self.step.unit == "row" else SECOND)
        least, most = (-(2**53), 2**53) if self.step.unit == "row" else (FIRST, LAST)
        return least <= start <= last <= most

    def times(self, start: int, count: int) -> Times:
        """Microseconds since 1970 in UTC of `count` values from `start` on; numbers of rows, where
        a table has no times.
        """
        if self.step.unit in ("row", "microsecond"):
            return self.step.local_times(start, count)
        local = int(to_local(np.array([start]), self.zone)[0])
        return to_utc(self.step.local_times(local, count), self.zone)

    def labels(self, start: int, count: int) -> list[str]:
        """The times for people and for files: 2024-03-31 03:00 in the time of the place, with the
        offset where the zone is known; numbers where a table has no times.
        """
        times = self.times(start, count)
        if self.step.unit == "row":
            return list(map(str, times.tolist()))
        local = to_local(times, self.zone)
        unit = self._precision(int(local[0]) if count else 0)
        texts = np.datetime_as_string(local.astype("datetime64[us]"), unit=unit).tolist()
        if unit != "D":
            texts = [text.replace("T", " ") for text in texts]
        if not self.zone or unit == "D":
            return list(texts)
        offsets = ((local - times) // MINUTE).tolist()
        return [text + _offset_text(offset) for text, offset in zip(texts, offsets, strict=True)]

    def _precision(self, local: int) -> Literal["D", "m", "s", "ms", "us"]:
        """How exactly all times from this one on are written."""
        fixed = self.step.unit == "microsecond"
        if not fixed and local % DAY == 0:
            return "D"
        common = math.gcd(local % DAY, self.step.count if fixed else DAY)
        if common % MINUTE == 0:
            return "m"
        return "s" if common % SECOND == 0 else "ms" if common % 1000 == 0 else "us"

    def phases(self, start: int, count: int) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """Where each value is in the day, the week and the year of the place, from 0 to 1: names,
        and an array [count, names]. Only what a step does not skip; nothing for numbers of rows.
        """
        if self.step.unit == "row":
            return (), np.zeros((count, 0))
        local = to_local(self.times(start, count), self.zone)
        days = local.astype("datetime64[us]").astype("datetime64[D]")
        years = days.astype("datetime64[Y]")
        first = years.astype("datetime64[D]").astype("datetime64[us]").astype(np.int64)
        last = (years + 1).astype("datetime64[D]").astype("datetime64[us]").astype(np.int64)
        found = {}
        if self.step.seconds < 86_400:
            found["time of day"] = (local % DAY) / DAY
        if self.step.seconds < 7 * 86_400:
            # 1970 began on a Thursday; a week begins on Monday.
            found["day of week"] = ((local + 3 * DAY) % (7 * DAY)) / (7 * DAY)
        if self.step.seconds < 360 * 86_400:
            found["day of year"] = (local - first) / (last - first)
        columns = list(found.values()) or [np.zeros((count, 0))]
        return tuple(found), np.stack(columns, 1) if found else columns[0]


def _offset_text(minutes: int) -> str:
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"
