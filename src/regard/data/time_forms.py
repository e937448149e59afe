"""How a single time is written: its day, its time of day and its offset from UTC."""

from __future__ import annotations

import re
from datetime import date

from regard.data.zones import HOUR, MINUTE, SECOND

YEARS = range(1700, 2300)
# The search for the parts of a text takes time with the square of its length.
LONGEST_TIME = 100
# What a person may say of dates like 01/02/2024, and the order of their parts.
ORDERS = {
    "day-first": ("d", "m", "y"),
    "month-first": ("m", "d", "y"),
    "year-first": ("y", "m", "d"),
}
_UNIX = date(1970, 1, 1).toordinal()
_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_MONTHS = {name[:size]: at for at, name in enumerate(_MONTH_NAMES, 1) for size in (3, 4, 9)}

_WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+", re.IGNORECASE)
# The usual text, which needs no search for its parts: 2024-01-31 13:00:00.
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(Z?)")
_OFFSET = r"\s*((?:z|utc|gmt)?(?:[+-]\d{1,2}(?::?\d{2})?)?)"
_PARTS = re.compile(
    r"(.{6,}?)(?:t|\s+|,\s*)(\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s*[ap]\.?m\.?)?"
    r"|\d{1,2}\s*[ap]\.?m\.?|(?<=\d\d-\d\d[t ])\d{2})" + _OFFSET,
    re.IGNORECASE,
)
# 01.01.2024 00:00 - 01.01.2024 01:00, of which the begin counts.
_FROM_TO = re.compile(r"(.{8,}?) [-–] (?:.{8,} )?\d{1,2}:\d{2}(?::\d{2})?")
_RUN_TOGETHER = re.compile(r"(\d{8})t?(\d{2})(\d{2})?(\d{2})?" + _OFFSET, re.IGNORECASE)
_CLOCK = re.compile(
    r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?(?:[.,](\d{1,9}))?\s*(?:([ap])\.?m\.?)?", re.IGNORECASE
)
_SHIFT = re.compile(r"(?:z|utc|gmt)?(?:([+-])(\d{1,2}):?(\d{2})?)?", re.IGNORECASE)
NUMBER = re.compile(r"-?\d+(?:\.\d*)?")
WHOLE = re.compile(r"-?\d+(?:\.0*)?")

# Ways to write a day, a month, a quarter, a week or a year. "b" is the name of a month.
_YEAR, _NAME = r"(?P<y>\d{4})", r"(?P<b>[a-z]{3,9})\.?"
_FORMS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "day": rf"{_YEAR}(?P<mark>[-/.])(?P<m>\d{{1,2}})(?P=mark)(?P<d>\d{{1,2}})",
        "parts": r"(?P<i>\d{1,2})(?P<mark>[-/.])(?P<j>\d{1,2})(?P=mark)(?P<k>\d{4}|\d{2})",
        "digits": rf"{_YEAR}(?P<m>\d{{2}})(?P<d>\d{{2}})",
        "day, name": rf"(?P<d>\d{{1,2}})[-/. ]*{_NAME}[-/., ]*(?P<y>\d{{4}}|\d{{2}})",
        "name, day": rf"{_NAME}[-/. ]*(?P<d>\d{{1,2}})[-/., ]+{_YEAR}",
        "month": rf"{_YEAR}(?:[-/.]|\s?m)(?P<m>\d{{1,2}})",
        "month, year": rf"(?P<m>\d{{1,2}})[-/.]{_YEAR}",
        "name": rf"{_NAME}[-/., ']*(?P<y>\d{{4}}|\d{{2}})",
        "year, name": rf"{_YEAR}[-/. ]*{_NAME}",
        "quarter": rf"{_YEAR}[-/. ]*q(?P<q>[1-4])",
        "quarter, year": rf"q(?P<q>[1-4])[-/. ]*{_YEAR}",
        "week": rf"{_YEAR}-?w(?P<w>\d{{2}})",
    }.items()
}
WITH_DAYS = {"day", "parts", "digits", "day, name", "name, day", "week"}


def looks_like_time(text: str) -> bool:
    """Whether this is a time, and no number, as far as its form shows it."""
    if NUMBER.fullmatch(text):
        return False
    day, clock, _ = parts_of(text)
    return form_of(day) is not None and (not clock or clock_of(clock) is not None)


def looks_like_clock(text: str) -> bool:
    """Whether this is a time of day without a day: 17:24:00."""
    return ":" in text and clock_of(text) is not None


def plain_clock(text: str) -> bool:
    """Whether this is a time of day and nothing else: 17:24 or 17:24:00, but not 5 pm."""
    return text.replace(":", "").isdecimal() and looks_like_clock(text)


def has_clock(text: str) -> bool:
    """Whether a time has a time of day."""
    return bool(parts_of(text)[1])


def parts_of(text: str) -> tuple[str, str, str]:
    """The day, the time of day and the offset of a text; "" for what it does not have."""
    if len(text) > LONGEST_TIME:
        return text, "", ""
    if found := _ISO.fullmatch(text):
        return found[1], found[2], found[3]
    if found := _RUN_TOGETHER.fullmatch(text):
        return found[1], ":".join(each or "00" for each in found.groups()[1:4]), found[5]
    if between := _FROM_TO.fullmatch(text):
        text = between[1]
    if text[:1].isalpha():
        text = _WEEKDAY.sub("", text, count=1)
    if found := _PARTS.fullmatch(text):
        return found[1].rstrip(","), found[2], found[3].strip()
    return text, "", ""


def form_of(day: str) -> tuple[str, re.Match[str]] | None:
    for name, pattern in _FORMS.items():
        found = pattern.fullmatch(day)
        if found and found.groupdict().get("b", "may").lower() in _MONTHS:
            return name, found
    return None


def day_of(parts: dict[str, str]) -> int | None:
    """The number of a day since 1970; the first of a month, a quarter, a week or a year."""
    year = int(parts["y"])
    if len(parts["y"]) == 2:
        year += 1900 if year >= 69 else 2000
    try:
        if "w" in parts:
            return date.fromisocalendar(year, int(parts["w"]), 1).toordinal() - _UNIX
        month = _MONTHS[parts["b"].lower()] if "b" in parts else int(parts.get("m", 1))
        month = 3 * int(parts["q"]) - 2 if "q" in parts else month
        return date(year, month, int(parts.get("d", 1))).toordinal() - _UNIX
    except ValueError:
        return None


def fits(parts: dict[str, str], order: tuple[str, str, str]) -> bool:
    named = dict(zip(order, (parts["i"], parts["j"], parts["k"]), strict=True))
    return len(named["d"]) <= 2 and day_of(named) is not None


def orders_of(parts: dict[str, str]) -> list[str]:
    return [name for name, order in ORDERS.items() if fits(parts, order)]


def clock_of(text: str) -> int | None:
    """Microseconds since midnight; 24:00 is the end of the day."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds = (int(each or 0) for each in found.groups()[:3])
    if found[5]:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + 12 * (found[5].lower() == "p")
    if minutes > 59 or seconds > 59 or hours > 24 or (hours == 24 and (minutes or seconds)):
        return None
    fraction = int((found[4] or "0").ljust(6, "0")[:6])
    return hours * HOUR + minutes * MINUTE + seconds * SECOND + fraction


def shift_of(text: str) -> int:
    found = _SHIFT.fullmatch(text)
    if found is None or not found[1]:
        return 0
    return (-1 if found[1] == "-" else 1) * (int(found[2]) * HOUR + int(found[3] or 0) * MINUTE)
