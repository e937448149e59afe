"""The times of rows in UTC, in their order.

Clocks of a place may be put forward and back. With the name of its zone, an hour that is skipped is
no gap, and an hour that comes twice is two hours; without it, regard says which zone it may be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from regard.data.series import Floats
from regard.data.series_rows import SeriesRows
from regard.data.steps import Clock, Step
from regard.data.zones import DAY, MINUTE, Times, clock_changes, to_local, to_utc
from regard.errors import DataError

# Zones that are suggested where times look as if one of them was meant.
ZONES = (
    *("Europe/Berlin", "Europe/London", "Europe/Athens", "America/New_York", "America/Chicago"),
    *("America/Denver", "America/Los_Angeles", "Australia/Sydney", "Pacific/Auckland"),
)


@dataclass(frozen=True)
class PlacedRows:
    """The times of rows: in UTC, and on the clock of the place; sorted by id, then by time.

    `order` are the numbers of the rows in the table.
    """

    table: SeriesRows
    order: NDArray[np.int64]
    codes: NDArray[np.int64]
    utc: Times
    local: Times
    values: Floats
    known: Floats
    zone: str
    remarks: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return self.table.read.kind

    @property
    def follows(self) -> NDArray[np.bool_]:
        """Whether each row but the first is of the same series as the one before it."""
        same: NDArray[np.bool_] = self.codes[1:] == self.codes[:-1]
        return same

    def label(self, at: int) -> str:
        """The time of a row, for a sentence."""
        step = Step(1, "row") if self.kind == "rows" else Step(MINUTE, "microsecond")
        if self.kind != "rows" and not (self.local % DAY).any():
            step = Step(1, "day")
        return Clock(step, self.zone).labels(int(self.utc[at]), 1)[0]

    def place(self, at: int) -> str:
        return self.table.where(int(self.order[at]))

    def only(self, kept: NDArray[np.bool_]) -> PlacedRows:
        return replace(
            self,
            order=self.order[kept],
            codes=self.codes[kept],
            utc=self.utc[kept],
            local=self.local[kept],
            values=self.values[kept],
            known=self.known[kept],
        )


def placed(rows: SeriesRows, zone: str) -> PlacedRows:
    """The rows in the order of their times."""
    read, remarks = rows.read, list[str]()
    if read.kind == "rows":
        if zone:
            raise DataError(f"zone {zone}: this table has no times, only numbers; leave it out")
        utc = local = read.times
    elif read.offsets is not None:
        utc = read.times - read.offsets
        zone, remark = (zone, "") if zone else _zone_of_offsets(utc, read.offsets)
        remarks += [remark] if remark else []
        if zone == "":
            utc = read.times  # days of a place, whose clock changes
        local = to_local(utc, zone)
    else:
        local = read.times
        utc = _from_clock(rows, zone)
    order = np.lexsort((utc, rows.codes))
    if not _sorted(utc, rows.codes):
        remarks.append("the rows are not in the order of time, so they are sorted")
    if (np.diff(order) > 0).all():  # as most tables are
        codes, values, known = rows.codes, rows.values, rows.known
    else:
        codes, values, known = rows.codes[order], rows.values[order], rows.known[order]
        utc, local = utc[order], local[order]
    return PlacedRows(rows, order, codes, utc, local, values, known, zone, tuple(remarks))


def _sorted(utc: Times, codes: NDArray[np.int64]) -> bool:
    order = np.argsort(codes, kind="stable")
    steps = np.diff(utc[order])[np.diff(codes[order]) == 0]
    return bool((steps >= 0).all())


def _zone_of_offsets(utc: Times, offsets: Times) -> tuple[str, str]:
    """The zone that offsets show, and a remark: "+01:00" if they are all the same; else UTC, with a
    suggestion; "" for days that begin at the same time of day of the place.
    """
    distinct = sorted({*offsets.tolist()})
    if len(distinct) == 1:
        return _offset_name(distinct[0]), ""
    fitting = next((z for z in ZONES if ((to_local(utc, z) - utc) == offsets).all()), "")
    names = " and ".join(map(_offset_name, distinct[:3]))
    advice = (
        f"--zone {fitting} makes them those of the place" if fitting else "--zone names the place"
    )
    if len({*((utc + offsets) % DAY).tolist()}) == 1:
        return "", f"times have the offsets {names}, and are read as days of the place; {advice}"
    return "UTC", (f"times have the offsets {names}; hours of the day are in UTC, and {advice}")


def _offset_name(offset: int) -> str:
    if not offset:
        return "UTC"
    hours, minutes = divmod(abs(offset) // MINUTE, 60)
    return f"{'-' if offset < 0 else '+'}{hours:02}:{minutes:02}"


def _from_clock(rows: SeriesRows, zone: str) -> Times:
    """UTC, of times on the clock of a place."""
    times = rows.read.times
    if not zone:
        return times
    if rows.read.kind == "months" or len({*(times % DAY).tolist()}) == 1:
        return to_utc(times, zone)  # days, whatever clocks do
    changes = clock_changes(times, zone)
    if (changes > 0).any():
        at = int(np.argmax(changes > 0))
        time = Clock(Step(MINUTE, "microsecond")).labels(int(times[at]), 1)[0]
        raise DataError(
            f"{rows.where(at)}: {time} does not exist in {zone}, where"
            " clocks are put forward; give the zone of these times, or their offset if it never"
            " changes, like --zone +01:00"
        )
    second = np.zeros(len(times), bool)
    seen: dict[tuple[int, int], int] = {}
    twice = np.flatnonzero(changes < 0)
    falling = np.diff(times)
    backwards = (falling < 0).sum() > (falling > 0).sum()
    for at in (twice[::-1] if backwards else twice).tolist():
        key = int(rows.codes[at]), int(times[at])
        second[at] = key in seen
        seen[key] = at
    return to_utc(times, zone, second)


def zone_like(local: Times, back: bool) -> str:
    """A zone in which clocks are put back, or forward, at some of these times; "" for none."""
    sign = -1 if back else 1
    found = {zone: int((sign * clock_changes(local, zone) > 0).sum()) for zone in ZONES}
    best = max(found, key=lambda zone: found[zone])
    return best if found[best] else ""
