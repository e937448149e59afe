"""Times as people and programs write them: the texts of a column to microseconds since 1970.

All texts of a column are looked at before any is read, so that 31/12/2024 shows what 01/02/2024
means. Where nothing shows it, the person is asked. Each part of a text is read once: a table has
many times, but few different days and few different times of day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.time_forms import (
    NUMBER,
    ORDERS,
    WHOLE,
    WITH_DAYS,
    YEARS,
    clock_of,
    day_of,
    fits,
    form_of,
    orders_of,
    parts_of,
    plain_clock,
    shift_of,
)
from regard.data.zones import DAY, HOUR, MINUTE, SECOND, Times
from regard.errors import DataError, shown

Where = Callable[[int], str]  # the place of a row: "load.csv:17"

# Numbers since 1970: their digits, how many make a microsecond or how many it makes, their name.
_SINCE_1970 = (
    (range(9, 11), SECOND, 1, "seconds"),
    (range(12, 14), 1000, 1, "milliseconds"),
    (range(15, 17), 1, 1, "microseconds"),
    (range(18, 20), 1, 1000, "nanoseconds"),
)


# A day that is taken for a month makes times 31 times as far apart; for a year, 365 times.
FAR_APART = 40
# Digits of the number of a row, and numbers that Excel may mean as days.
LONGEST_NUMBER = 15
EXCEL_DAYS = range(30_000, 60_000)


@dataclass(frozen=True)
class ReadTimes:
    """The times of rows, on the clock of the place. `offsets` are from UTC, where they are written.

    `kind` is "times", "months" for times without a day, or "rows" for numbers of rows.
    """

    times: Times
    offsets: Times | None = None
    kind: str = "times"
    remark: str = ""


def read_times(texts: Sequence[str], where: Where, dates: str = "") -> ReadTimes:
    """The times of a column; a DataError names the first row that is unlike the others."""
    if (found := _iso(texts)) is not None:
        return found
    distinct = list(dict.fromkeys(texts))
    if "" in distinct:
        raise DataError(
            f"{where(texts.index(''))}: there is no time in this row; write it, or remove the row"
        )
    column = _Column(texts, where, dates)
    if not all(map(NUMBER.fullmatch, distinct)):
        return column.from_texts(distinct)
    return _digits(texts, distinct) or column.from_numbers(distinct)


@dataclass(frozen=True)
class _Column:
    texts: Sequence[str]
    where: Where
    dates: str

    def from_texts(self, distinct: list[str]) -> ReadTimes:
        parts = _same_parts(distinct) or [parts_of(text) for text in distinct]
        days, kind, remark = self._days({day: None for day, _, _ in parts}, distinct, parts)
        clocks = {text: clock_of(text) if text else 0 for text in {clock for _, clock, _ in parts}}
        offsets = {text: shift_of(text) for text in {offset for _, _, offset in parts}}
        for text, (_, clock, offset) in zip(distinct, parts, strict=True):
            if clocks[clock] is None:
                raise self._unread(text, f"{clock} is no time of day")
            if not offset and len(offsets) > 1:
                raise self._unread(text, "it has no offset from UTC, and others have")
        if kind == "times" and any(clocks) and not all(clocks):
            remark = remark or "times without a time of day are at 00:00"
        times = self._of_rows(distinct, [days[day] * DAY + (clocks[c] or 0) for day, c, _ in parts])
        if not any(offsets):
            return ReadTimes(times, None, kind, remark)
        shifts = self._of_rows(distinct, [offsets[offset] for _, _, offset in parts])
        return ReadTimes(times, shifts, kind, remark)

    def _of_rows(self, distinct: list[str], numbers: list[int]) -> Times:
        """The numbers of all rows, of those of their distinct texts."""
        if len(distinct) < len(self.texts):
            by_text = dict(zip(distinct, numbers, strict=True))
            numbers = [by_text[text] for text in self.texts]
        return np.array(numbers, np.int64)

    def _days(
        self, days: dict[str, None], distinct: list[str], parts: list[tuple[str, str, str]]
    ) -> tuple[dict[str, int], str, str]:
        """The number of each day since 1970, the kind of the times, and a remark."""
        forms = {day: form_of(day) for day in days}
        usual = Counter(each[0] for each in forms.values() if each).most_common(1)
        for text, (day, _, _) in zip(distinct, parts, strict=True):
            form = forms[day]
            if form is None:
                raise self._unread(text, "it is no time that can be read")
            if form[0] != usual[0][0]:
                like = next(
                    each for each, other in forms.items() if other and other[0] == usual[0][0]
                )
                raise self._unread(text, f"it is not written like {like} in other rows")
        found = {day: form[1].groupdict() for day, form in forms.items() if form}
        order, remark = ("", "")
        if usual[0][0] == "parts":
            order, remark = self._order(found)
            names = dict(zip(("i", "j", "k"), ORDERS[order], strict=True))
            found = {day: {names[i]: each[i] for i in names} for day, each in found.items()}
        numbers = {}
        for day, each in found.items():
            number = day_of(each)
            if number is None:
                first = next(i for i, (text, _, _) in enumerate(parts) if text == day)
                raise self._unread(distinct[first], "there is no such day")
            numbers[day] = number
        return numbers, "times" if usual[0][0] in WITH_DAYS else "months", remark

    def _order(self, found: dict[str, dict[str, str]]) -> tuple[str, str]:
        """The order of day, month and year, where all are digits: the only one that is possible for
        all rows, or the one that a person has named.
        """
        possible = {
            name: [day for day, each in found.items() if not fits(each, order)]
            for name, order in ORDERS.items()
        }
        fitting = [name for name, wrong in possible.items() if not wrong]
        if self.dates:
            if wrong := possible.get(self.dates, []):
                raise self._unread(self._text_of(wrong[0]), f"it cannot be {self.dates}")
            return self.dates, ""
        if not fitting:
            best = min(possible, key=lambda name: len(possible[name]))
            like = next(day for day in found if day not in possible[best])
            raise self._unread(
                self._text_of(possible[best][0]), f"other rows, like {like}, are {best}"
            )
        if len(near := self._close_together(found, fitting)) == 1 < len(fitting):
            return near[0], f"dates are {near[0]}, as they would be years apart otherwise"
        if len(fitting) == 1:
            shows = next(day for day in found if len(orders_of(found[day])) == 1)
            return fitting[0], f"dates are {fitting[0]}, as {shows} shows"
        day = next(iter(found))
        if found[day]["mark"] == "." and all(len(each["k"]) == 4 for each in found.values()):
            return "day-first", "dates are day-first, as they have dots"
        raise DataError(
            f"{self.where(self._row_of(day))}: {day} may be {' or '.join(fitting)}, and no row"
            f" shows which; say it with data.dates, for example data.dates={fitting[0]}"
        )

    @staticmethod
    def _close_together(found: dict[str, dict[str, str]], orders: list[str]) -> list[str]:
        """The orders without those that take the day for the year, which puts days years apart."""
        spans = {}
        for name in orders:
            parts = (
                dict(zip(ORDERS[name], (p["i"], p["j"], p["k"]), strict=True))
                for p in found.values()
            )
            days = [day_of(each) or 0 for each in parts]
            spans[name] = max(days) - min(days) + 1
        return [name for name in orders if spans[name] <= FAR_APART * min(spans.values())]

    def from_numbers(self, distinct: list[str]) -> ReadTimes:
        lengths = {len(text.lstrip("-").partition(".")[0]) for text in distinct}
        for sizes, times, parts, name in _SINCE_1970:
            if lengths <= {*sizes}:
                values = self._of_rows(
                    distinct, [_since_1970(text, times, parts) for text in distinct]
                )
                remark = f"times are {name} since 1970"
                return ReadTimes(values, np.zeros_like(values), remark=remark)
        for text in distinct:
            if not WHOLE.fullmatch(text) or len(text) > LONGEST_NUMBER:
                raise self._unread(text, "it is neither a time nor the number of a row")
        numbers = [int(text.partition(".")[0]) for text in distinct]
        remark = ""
        if all(number in EXCEL_DAYS for number in numbers):
            remark = f"times are numbers; if {numbers[0]} is a day of Excel, format it as a date"
        return ReadTimes(self._of_rows(distinct, numbers), kind="rows", remark=remark)

    def _row_of(self, day: str) -> int:
        return next(i for i, text in enumerate(self.texts) if parts_of(text)[0] == day)

    def _text_of(self, day: str) -> str:
        return self.texts[self._row_of(day)]

    def _unread(self, text: str, why: str) -> DataError:
        return DataError(
            f"{self.where(self.texts.index(text))}: the time is {shown(text)}, and {why}; write"
            " times like 2024-01-31 13:00 in all rows"
        )


def _same_parts(texts: list[str]) -> list[tuple[str, str, str]]:
    """The parts of texts that are all cut at the same place, as 31.01.2024 13:00 is."""
    day, clock, offset = parts_of(texts[0])
    cut = len(day)
    if not clock or offset or len({len(text) for text in texts}) > 1:
        return []
    parts = [(text[:cut], text[cut + 1 :], "") for text in texts]
    between = {text[cut] for text in texts}
    clocks = {clock for _, clock, _ in parts}
    return parts if between <= {" ", "T"} and all(map(plain_clock, clocks)) else []


def _iso(texts: Sequence[str]) -> ReadTimes | None:
    """Times that are all written like 2024-01-31 13:00:00, read at once; None for other texts."""
    length = len(texts[0]) if texts else 0
    pattern = "0000-00-00 00:00:00"[: length - (texts[0][-1:] == "Z")] if length else ""
    if len(pattern) not in (10, 16, 19) or any(len(text) != length for text in texts):
        return None
    cells = np.array(texts, f"U{length}").view(np.uint32).reshape(len(texts), length)
    marks = [at for at, mark in enumerate(pattern) if mark in "-:"]
    digits = cells - ord("0")  # unsigned, so that what is less is large
    fits = all((cells[:, at] == ord(pattern[at])).all() for at in marks)
    fits &= all((digits[:, at] < 10).all() for at, mark in enumerate(pattern) if mark == "0")
    if length > 11:
        fits &= bool(np.isin(cells[:, 10], (ord(" "), ord("T"))).all())
    if length > len(pattern):
        fits &= bool((cells[:, -1] == ord("Z")).all())
    if not fits:
        return None

    def number(at: int, size: int = 2) -> Times:
        found = np.zeros(len(texts), np.int64)
        for column in range(at, at + size):
            found = found * 10 + digits[:, column] if column < len(pattern) else found
        return found

    months = (number(0, 4) - 1970) * 12 + number(5) - 1
    first, last = (
        (months + more).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        for more in (0, 1)
    )
    days = first + number(8) - 1
    hours, minutes, seconds = number(11), number(14), number(17)
    right = (number(5) >= 1) & (number(5) <= 12) & (days >= first) & (days < last)
    if not (right & (hours < 24) & (minutes < 60) & (seconds < 60)).all():
        return None  # the reader of single texts says what is wrong
    times = days * DAY + hours * HOUR + minutes * MINUTE + seconds * SECOND
    return ReadTimes(times, np.zeros_like(times) if length > len(pattern) else None)


def _digits(texts: Sequence[str], distinct: list[str]) -> ReadTimes | None:
    """Dates of nothing but digits: 20240131, 2024013113, 202401, 2024; None for other numbers."""
    plain = {text: text.partition(".")[0] for text in distinct}
    lengths = {len(text) for text in plain.values()}
    found: dict[str, int] = {}
    for text, digits in plain.items():
        if len(lengths) > 1 or not digits.isdecimal() or int(digits[:4]) not in YEARS:
            return None
        day = day_of({"y": digits[:4], "m": digits[4:6] or "1", "d": digits[6:8] or "1"})
        clock = clock_of(":".join(digits[at : at + 2] for at in range(8, len(digits), 2)) or "0")
        if day is None or clock is None or lengths - {4, 6, 8, 10, 12, 14}:
            return None
        found[text] = day * DAY + clock
    kind = "months" if lengths <= {4, 6} else "times"
    example = np.datetime_as_string(np.datetime64(found[distinct[0]], "us"), unit="m")
    remark = f"times are digits, {distinct[0]} is {example}"
    return ReadTimes(np.array([found[text] for text in texts]), None, kind, remark)


def _since_1970(text: str, times: int, parts: int) -> int:
    whole, _, rest = text.partition(".")
    return int(whole) * times // parts + round(float(f"0.{rest or 0}") * times)
