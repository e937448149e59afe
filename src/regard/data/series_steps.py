"""The step between the times of a table, and the means of longer steps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from regard.data.series import Floats
from regard.data.series_times import PlacedRows
from regard.data.steps import Step, Unit
from regard.data.zones import DAY, Times, to_local, to_utc
from regard.errors import DataError

# Lengths that are proposed for irregular times.
USUAL = tuple(
    Step.parse(text)
    for text in (
        *("1s", "5s", "10s", "15s", "30s", "1min", "5min", "10min", "15min", "30min", "1h", "3h"),
        *("6h", "12h", "1d", "1week", "1month", "1quarter", "1year"),
    )
)
# A grid on which fewer of the values would be there is not the step of a table.
LEAST_FILLED = 0.5
# A series with as many steps shows what its own step is.
ENOUGH_STEPS = 4


def positions(rows: PlacedRows, unit: Unit) -> Times:
    """Where each time is, counted in a unit."""
    days = rows.local // DAY
    match unit:
        case "row" | "microsecond":
            return rows.utc
        case "day":
            return days
        case "weekday":
            return np.busday_count(np.datetime64(0, "D"), days.astype("datetime64[D]"))
    return months_of(days)


def months_of(days: Times) -> Times:
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def step_of(rows: PlacedRows, like: Step | None = None) -> Step:
    """The step of a table; a DataError says where times are irregular, and what to do.

    Few rows may fit several steps, Monday to Thursday both days and weekdays: then it is the step
    of other data that they are `like`.
    """
    if like is not None and _has_step(rows, like):
        return like
    follows = rows.follows
    if not follows.any():
        raise DataError(
            f"{rows.place(0)}: no series has more than one value, so there is no step; give more"
            " rows, or name the columns with --target, --time and --id"
        )
    unit = _unit_of(rows)
    steps = np.diff(positions(rows, unit))[follows]
    values, counts = np.unique(steps, return_counts=True)
    usual = int(values[np.argmax(counts)])
    if (values % usual).any():
        usual = math.gcd(*values.tolist())
        if (len(steps) + 1) * usual < LEAST_FILLED * steps.sum():
            raise _irregular(rows, follows)
    _refuse_other_steps(rows, usual, unit)
    return Step(usual, unit)


def _has_step(rows: PlacedRows, step: Step) -> bool:
    """Whether times are on the grid of a step, and most of them one step apart."""
    if (rows.kind == "rows") != (step.unit == "row"):
        return False
    days = rows.local // DAY
    match step.unit:
        case "weekday":
            fits = bool(((days + 3) % 7 < 5).all())
        case "month":
            fits = len(np.unique(days - _first_day(months_of(days)))) == 1
        case "month-end":
            fits = bool((months_of(days + 1) > months_of(days)).all())
        case _:
            fits = True
    if step.unit not in ("row", "microsecond"):
        fits &= len(np.unique(rows.local % DAY)) == 1
    apart = np.diff(positions(rows, step.unit))[rows.follows]
    lengths, counts = np.unique(apart, return_counts=True)
    usual = lengths[np.argmax(counts)] if len(lengths) else step.count
    return fits and usual == step.count and not (lengths % step.count).any()


def _unit_of(rows: PlacedRows) -> Unit:
    """The unit in which the steps of a table are whole."""
    if rows.kind == "rows":
        return "row"
    if rows.kind == "months":
        return "month"
    if len(np.unique(rows.local % DAY)) > 1:
        return "microsecond"
    days = rows.local // DAY
    months, apart = months_of(days), np.diff(days)[rows.follows]
    if (apart >= 28).all():
        if len(np.unique(days - _first_day(months))) == 1:
            return "month"
        if (months_of(days + 1) > months).all():
            return "month-end"
    weekday = (days + 3) % 7
    if (weekday < 5).all() and ((apart == 3) & (weekday[1:][rows.follows] == 0)).any():
        return "weekday"
    return "day"


def _first_day(months: Times) -> Times:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _irregular(rows: PlacedRows, follows: NDArray[np.bool_]) -> DataError:
    """Where the first step is that is unlike the others, and what step to ask for."""
    apart = np.where(follows, np.diff(rows.utc), 0)
    values, counts = np.unique(apart[follows], return_counts=True)
    usual = int(values[np.argmax(counts)])
    odd = int(np.argmax(follows & (apart % usual != 0))) + 1
    share = 100 * counts.max() / counts.sum()
    proposed = _usual_step(usual if share >= 50 else float(np.median(apart[follows])))
    if rows.kind == "rows":
        return DataError(
            f"{rows.place(odd)}: after {rows.label(odd - 1)} comes {rows.label(odd)}, and the steps"
            " between rows have no length in common; number the rows evenly"
        )
    mostly = f"most are {_length(usual)}" if share >= 50 else "there are many other lengths"
    return DataError(
        f"{rows.place(odd)}: the step to {rows.label(odd)} is {_length(int(apart[odd - 1]))}, and"
        f" {mostly}, so times are irregular; --every {proposed} takes the mean of each {proposed}"
    )


def _usual_step(length: float) -> Step:
    """The shortest usual step that is at least as long, in microseconds."""
    return next((step for step in USUAL if step.seconds * 1e6 >= 0.95 * length), USUAL[-1])


def _length(microseconds: int) -> str:
    if microseconds % DAY == 0:
        return str(Step(microseconds // DAY, "day"))
    return str(Step(microseconds, "microsecond"))


def _refuse_other_steps(rows: PlacedRows, usual: int, unit: Unit) -> None:
    """Refuse a series whose values are all further apart than those of the others."""
    place = positions(rows, unit)
    starts = np.flatnonzero(np.r_[True, ~rows.follows])
    ends = np.r_[starts[1:], len(place)]
    apart = np.r_[0, np.diff(place)]
    apart[starts] = np.iinfo(np.int64).max
    least = np.minimum.reduceat(apart, starts)
    for series in np.flatnonzero((least > usual) & (ends - starts > ENOUGH_STEPS)).tolist():
        name = rows.table.names[int(rows.codes[starts[series]])]
        step = Step(int(least[series]), unit)
        raise DataError(
            f"{rows.place(int(starts[series]))}: the series {name} has steps of {step}, and others"
            f" of {Step(usual, unit)}; give series of one step, or means with --every {step}"
        )


def binned(rows: PlacedRows, every: Step) -> PlacedRows:
    """The means of the rows of each step. The first and the last are left out if they are of less
    than half as many rows as most.
    """
    starts_at = _bins(rows, every)
    starts = np.flatnonzero(np.r_[True, (np.diff(starts_at) != 0) | ~rows.follows])
    utc = starts_at[starts]
    new = replace(
        rows,
        order=rows.order[starts],
        codes=rows.codes[starts],
        utc=utc,
        local=to_local(utc, rows.zone),
        values=_means(rows.values, starts),
        known=_means(rows.known, starts),
    )
    sizes = np.diff(np.r_[starts, len(rows.codes)])
    ends = np.r_[True, ~new.follows] | np.r_[~new.follows, True]
    new.values[ends & (2 * sizes < np.median(sizes))] = np.nan
    usual = int(np.median(sizes))
    remark = f"each value is the mean of {every}, of {usual} rows as a rule"
    return replace(new, remarks=(*rows.remarks, remark))


def _bins(rows: PlacedRows, every: Step) -> Times:
    """The begin of the step that each row is in."""
    if rows.kind == "rows":
        raise DataError(f"every {every}: this table has no times, only numbers; leave it out")
    apart = np.diff(rows.utc)[rows.follows]
    apart = apart[apart > 0]
    if len(apart) and every.seconds * 1e6 < 0.9 * np.median(apart):
        raise DataError(
            f"every {every}: most values are {_length(int(np.median(apart)))} apart, so there are"
            " no means of less; take a longer step, or leave it out"
        )
    count, days = every.count, rows.local // DAY
    match every.unit:
        case "microsecond":
            shift = int(rows.local[0] - rows.utc[0])
            return (rows.utc + shift) // count * count - shift
        case "day":  # a week begins on Monday
            local = (days + 3) // count * count - 3 if count % 7 == 0 else days // count * count
        case "month":
            local = _first_day(months_of(days) // count * count)
        case _:
            raise DataError(f"every {every}: there are no means of it; take 1d, 1week or 1month")
    return to_utc(local * DAY, rows.zone)


def _means(values: Floats, starts: Times) -> Floats:
    there = ~np.isnan(values)
    sums = np.add.reduceat(np.where(there, values, 0.0), starts, axis=0)
    counts = np.add.reduceat(there, starts, axis=0, dtype=np.int64)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
