"""Rows to series: each value at its place on the grid of the table's step, with gaps in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from regard.data.series import Floats, Series, SeriesReading, SeriesTable
from regard.data.series_rows import SeriesRows
from regard.data.series_steps import binned, positions, step_of
from regard.data.series_times import PlacedRows, placed, zone_like
from regard.data.steps import Clock, Step
from regard.data.zones import HOUR, Times, checked_zone
from regard.errors import DataError

# A grid may have as many places for each row; more is a wrong time somewhere.
MOST_PLACES = 20
SMALL_GRID = 100_000
# Gaps that are compared with changes of clocks.
MOST_GAPS = 1000


def gridded(rows: SeriesRows, known_names: tuple[str, ...], reading: SeriesReading) -> SeriesTable:
    """The series of some rows."""
    found = placed(rows, checked_zone(reading.zone))
    if reading.every:
        step = Step.parse(reading.every)
        found = binned(found, step)
    else:
        found = _without_copies(found)
        step = step_of(found, reading.step)
    clock = Clock(step, found.zone)
    remarks = [*found.remarks]
    series: list[Series] = []
    empty: list[str] = []
    for each in _series(found, clock):
        if len(each):
            series.append(each)
        else:
            empty.append(each.name)
    if not series:
        raise DataError(f"{rows.where(0)}: all values are missing; give some")
    if empty:
        remarks.append(f"{_some(empty)} without a value: left out")
    if rows.infinite:
        remarks.append(f"{rows.infinite:,} infinite values count as missing")
    if step.unit == "weekday":
        remarks.append("there are only days from Monday to Friday; others among them are gaps")
    remarks += _gaps(series, clock)
    target = rows.targets[0] if len(rows.targets) == 1 else ""
    return SeriesTable(series, clock, target, known_names, remarks)


def _without_copies(rows: PlacedRows) -> PlacedRows:
    """Rows that occur twice, once; a DataError where they differ."""
    copies = np.r_[False, rows.follows & (np.diff(rows.utc) == 0)]
    if not copies.any():
        return rows
    second = np.flatnonzero(copies)
    differ = _differ(rows.values, second) | _differ(rows.known, second)
    if differ.any():
        raise _twice(rows, second, int(second[np.argmax(differ)]))
    rows_occur = "1 row occurs" if len(second) == 1 else f"{len(second):,} rows occur"
    remark = f"{rows_occur} twice and is taken once"
    return replace(rows.only(~copies), remarks=(*rows.remarks, remark))


def _differ(values: Floats, second: Times) -> NDArray[np.bool_]:
    one, other = values[second - 1], values[second]
    result: NDArray[np.bool_] = ((one != other) & ~(np.isnan(one) & np.isnan(other))).any(1)
    return result


def _twice(rows: PlacedRows, second: Times, at: int) -> DataError:
    name = rows.table.names[int(rows.codes[at])]
    of = f" of {name}" if name else ""
    first, again = sorted(rows.order[[at - 1, at]].tolist())
    line = rows.table.where(first).rpartition(":")[2]
    what = (
        f"{rows.table.where(again)}: the time {rows.label(at)}{of} is in line {line}, too, with"
        " other values"
    )
    if not rows.zone and (zone := zone_like(rows.local[second], back=True)):
        return DataError(
            f"{what}, as when clocks are put back in {zone}; name the zone of these times, like"
            f" --zone {zone}"
        )
    return DataError(f"{what}; remove one, or name the column that tells series apart with --id")


def _series(rows: PlacedRows, clock: Clock) -> Iterator[Series]:
    """The series of each id and target, without the missing values at both ends."""
    starts = np.flatnonzero(np.r_[True, ~rows.follows]).tolist()
    ends = [*starts[1:], len(rows.codes)]
    place = positions(rows, clock.step.unit)
    _check_size(rows, place, clock)
    single = len(rows.table.targets) == 1
    for start, end in zip(starts, ends, strict=True):
        at = (place[start:end] - place[start]) // clock.step.count
        length = int(at[-1]) + 1
        values, known = rows.values[start:end], rows.known[start:end]
        if length > end - start:
            values, known = _spread(values, at, length), _spread(known, at, length)
        name = rows.table.names[int(rows.codes[start])]
        begin = int(rows.utc[start])
        for number, target in enumerate(rows.table.targets):
            both = f"{name} / {target}" if name else target
            yield _trimmed(
                Series(name if name and single else both, begin, values[:, number], known), clock
            )


def _spread(values: Floats, at: Times, length: int) -> Floats:
    result = np.full((length, values.shape[1]), np.nan)
    result[at] = values
    return result


def _trimmed(series: Series, clock: Clock) -> Series:
    """The series from its first value to its last, and what is known after that."""
    values, known = series.values, series.known
    there = np.flatnonzero(~np.isnan(values))
    if not len(there):
        return replace(series, values=values[:0], known=known[:0])
    first, last = int(there[0]), int(there[-1]) + 1
    future = np.flatnonzero(~np.isnan(known[last:]).all(1)) if known.shape[1] else there[:0]
    end = last + (int(future[-1]) + 1 if len(future) else 0)
    return Series(
        series.name,
        int(clock.times(series.start, first + 1)[-1]) if first else series.start,
        np.ascontiguousarray(values[first:last]),
        known[first:end],
    )


def _check_size(rows: PlacedRows, place: Times, clock: Clock) -> None:
    """Refuse a grid that is nearly all gaps, which a single wrong time makes."""
    steps = np.where(rows.follows, np.diff(place) // clock.step.count, 1)
    most = max(SMALL_GRID, MOST_PLACES * len(place))
    if steps.sum() > most:
        at = int(np.argmax(steps)) + 1
        raise DataError(
            f"{rows.place(at)}: {int(steps[at - 1]):,} steps of {clock.step} are missing between"
            f" {rows.label(at - 1)} and {rows.label(at)}; mend the time that is wrong, or take a"
            " longer step with --every"
        )


def _gaps(series: list[Series], clock: Clock) -> Iterator[str]:
    """What is missing, in a sentence, and whether a change of clocks explains it."""
    missing, total = sum(each.missing for each in series), sum(map(len, series))
    if not missing:
        return
    gaps = [(size, first, each) for each in series for first, size in _runs(each.values)]
    size, first, longest = max(gaps, key=lambda gap: gap[0])
    of = f" of {longest.name}" if len(series) > 1 else ""
    since = clock.labels(longest.start, first + 1)[-1]
    yield (
        f"{missing:,} of {total:,} values ({100 * missing / total:.2g} %) are missing and are not"
        f" filled in; the longest gap{of} is {size:,} {'value' if size == 1 else 'values'} from"
        f" {since} on"
    )
    if clock.zone or clock.step.unit != "microsecond" or clock.step.count > HOUR:
        return
    hours = [each.start + first * clock.step.count for size, first, each in gaps[:MOST_GAPS]]
    if zone := zone_like(np.array(hours), back=False):
        yield (
            f"an hour is missing where clocks are put forward in {zone}; if these are times of such"
            f" a place, say so with --zone {zone}"
        )


def _runs(values: Floats) -> Iterator[tuple[int, int]]:
    """Where values are missing: the first of them, and how many."""
    edges = np.diff(np.isnan(values).astype(np.int8))
    firsts, ends = np.flatnonzero(edges == 1) + 1, np.flatnonzero(edges == -1) + 1
    yield from zip(firsts.tolist(), (ends - firsts).tolist(), strict=True)


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3]) + ", …" * (len(names) > 3)
    return f"{len(names):,} series ({shown})"
