"""Time zones: from UTC to the time of a place and back, for many times at once.

Times are whole microseconds since 1970, in arrays of int64. A zone is named as the tz database
names it ("Europe/Berlin"), or by a fixed offset ("+01:00"); "" is a place that nobody has named,
whose times are taken as they are.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError

Times = NDArray[np.int64]

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
EPOCH = datetime(1970, 1, 1)
# Years that a datetime can hold, with room for an offset and a step.
FIRST, LAST = -62_135_400_000 * SECOND, 253_402_000_000 * SECOND

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?", re.IGNORECASE)


def checked_zone(name: str) -> str:
    """The name of a zone as the tz database has it; a DataError suggests the nearest one."""
    zone_of(name)
    return name.strip()


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo:
    """The zone of this name; UTC for ""."""
    name = name.strip()
    if name.upper() in ("", "UTC", "Z", "GMT"):
        return UTC
    if found := _OFFSET.fullmatch(name):
        hours, minutes = int(found[2]), int(found[3] or 0)
        if hours < 24 and minutes < 60:
            return timezone(
                (-1 if found[1] == "-" else 1) * timedelta(hours=hours, minutes=minutes)
            )
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = {each.lower(): each for each in available_timezones()}
    if not known:
        raise DataError(
            f"zone {name}: this system has no time zones; install the package tzdata"
        ) from None
    close = difflib.get_close_matches(name.lower(), known, n=1)
    by_city = [each for each in known.values() if each.lower().endswith("/" + name.lower())]
    near = by_city or [known[each] for each in close]
    advice = f"did you mean {near[0]}?" if near else "write one like Europe/Berlin"
    raise DataError(f"zone {name}: there is no such time zone; {advice}") from None


def to_local(times: Times, zone: str) -> Times:
    """The time of the place, of times in UTC."""
    where = zone_of(zone)
    if where is UTC:
        return times
    if isinstance(where, timezone):
        return times + _local_offsets(times, where, fold=0)
    return times + _offsets(times, lambda each: _offset_at(each, where), before=0, after=1)


def to_utc(times: Times, zone: str, second: NDArray[np.bool_] | None = None) -> Times:
    """UTC, of times of the place. `second` marks those that are the later one of two, where clocks
    are put back; a time that clocks skip becomes the one an hour later.
    """
    where = zone_of(zone)
    if where is UTC:
        return times
    early = _local_offsets(times, where, fold=0)
    if second is None or not second.any():
        return times - early
    return times - np.where(second, _local_offsets(times, where, fold=1), early)


def clock_changes(times: Times, zone: str) -> Times:
    """Where clocks change at a place: negative for a time of the place that occurs twice, because
    they are put back, and positive for one that does not exist; 0 for all others.
    """
    where = zone_of(zone)
    return _local_offsets(times, where, fold=1) - _local_offsets(times, where, fold=0)


def _local_offsets(times: Times, where: tzinfo, fold: int) -> Times:
    if isinstance(where, timezone):
        return np.full(len(times), _microseconds(where.utcoffset(None)))
    return _offsets(times, lambda each: _local_offset(each, where, fold), before=1, after=2)


def _offsets(times: Times, offset: Callable[[int], int], before: int, after: int) -> Times:
    """The offset of each time. It is asked for once a day, and for each time only near a change."""
    days, place = np.unique(times // DAY, return_inverse=True)
    around = [(offset((day - before) * DAY), offset((day + after) * DAY)) for day in days.tolist()]
    first, last = np.array(around, np.int64).reshape(-1, 2).T
    result: Times = first[place]
    near = np.flatnonzero((first != last)[place])
    result[near] = [offset(each) for each in times[near].tolist()]
    return result


@lru_cache(maxsize=1 << 16)
def _offset_at(utc: int, where: tzinfo) -> int:
    moment = EPOCH + timedelta(microseconds=min(max(utc, FIRST), LAST))
    return _microseconds(moment.replace(tzinfo=UTC).astimezone(where).utcoffset())


@lru_cache(maxsize=1 << 16)
def _local_offset(local: int, where: tzinfo, fold: int) -> int:
    moment = EPOCH + timedelta(microseconds=min(max(local, FIRST), LAST))
    return _microseconds(moment.replace(tzinfo=where, fold=fold).utcoffset())


def _microseconds(offset: timedelta | None) -> int:
    return (offset or timedelta()) // timedelta(microseconds=1)
