"""Questions about runs that forecast: what follows a series from any point of its past, what that
owes to each known column, and which parts of the past it comes from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard import tasks
from regard.data.series import Series, SeriesTable
from regard.errors import RegardError, RequestError
from regard.evaluate.series import INTERVALS
from regard.inspect.series_columns import column_parts, columns_off
from regard.run import Run
from regard.studio.requests import Found, Looked, Window
from regard.studio.runs import OpenRun, read_object
from regard.tasks.forecast_evaluation import NAIVE, held_out_times
from regard.tasks.series_data import calendar_names

if TYPE_CHECKING:
    from regard.tasks.forecast import Forecast
    from regard.tasks.forecaster import Forecaster

# Names that a search shows, points of an overview, and steps of a chart.
NAMES, POINTS, MOST_STEPS = 50, 600, 4_000


@dataclass(frozen=True)
class Known:
    """The series of a run, as a page may ask about them."""

    table: SeriesTable
    whole: bool  # or only the end of each series
    began: dict[str, int]  # the time from which a series was held out of training


def series_of(run: OpenRun, forecaster: "Forecaster") -> Known:
    """The series that a run learned from; their last part, if its training data is gone."""
    if run.series is None:
        from regard.data.series_arrays import load_table

        opened = Run(run.folder)
        try:
            table = load_table(opened.training / "data" / "series.safetensors")
            run.series = Known(table, True, held_out_times(opened))
        except (OSError, RegardError):
            run.series = Known(forecaster.table(), False, {})
    found: Known = run.series
    return found


def check_view(run: OpenRun) -> None:
    if "series" not in tasks.entry(run.task).views:
        raise RequestError(f"{run.folder}: this run forecasts no series; reload the page")


def series_names(run: OpenRun, asked: Found) -> dict[str, Any]:
    """The series whose names hold a text, those first whose names begin with it; and what all of
    them share.
    """
    check_view(run)
    with run.opened(asked.step) as forecaster:
        known = series_of(run, forecaster)
        table, data = known.table, forecaster.data
        text = asked.text.casefold()
        places = [at for at, name in enumerate(table.names) if text in name.casefold()]
        places.sort(key=lambda at: not table.names[at].casefold().startswith(text))
        scores = read_object(Run(run.folder).info_path).get("validation") or {}
        return {
            "count": len(table),
            "matches": len(places),
            "names": [[at, table.names[at]] for at in places[:NAMES]],
            "target": table.target,
            "zone": table.clock.zone,
            "times": table.has_times,
            "step": str(table.clock.step),
            "horizon": data.horizon,
            "context": data.context,
            "season": data.season,
            "columns": list(column_parts(table, calendar_names(table, data))),
            "attends": hasattr(forecaster.model, "encoder"),
            "whole": known.whole,
            "verdict": tasks.get(run.task).verdict(scores),
        }


def one_series(table: SeriesTable, number: int) -> Series:
    if number >= len(table):
        raise RequestError(f"there is no series {number + 1}; there are {len(table):,}")
    return table.series[number]


def series_overview(run: OpenRun, asked: Window) -> dict[str, Any]:
    """A series from far away: the lowest and the highest value of each stretch, where its past may
    end, and where the part begins that the run did not learn from.
    """
    check_view(run)
    with run.opened(asked.step) as forecaster:
        known = series_of(run, forecaster)
        series = one_series(known.table, asked.series)
        first, last = ends_of(known.table, series, forecaster.data.horizon)
        times = known.table.times(series)
        began = known.began.get(series.name)
        return {
            "name": series.name,
            "length": len(series),
            "ends": [first, last],
            # Where the last values are known, a forecast is compared with them.
            "end": max(first, min(last, len(series) - forecaster.data.horizon)),
            "began": None if began is None else int(np.searchsorted(times, began)),
            "points": thinned(series.values),
        }


def ends_of(table: SeriesTable, series: Series, horizon: int) -> tuple[int, int]:
    """Where the past may end: after the first value, and before what is known ends."""
    last = len(series)
    if table.known_names:
        last = min(last, len(series.known) - horizon)
    if last < 1:
        raise RequestError(
            f"{series.name}: {', '.join(table.known_names)} must be known for {horizon} steps; "
            "this series is shorter, choose another"
        )
    return 1, last


def thinned(values: Any) -> list[list[float]]:
    """The lowest and the highest value of each stretch, [step, value], in the order of time."""
    size = max(1, -(-2 * len(values) // POINTS))
    found = []
    for start in range(0, len(values), size):
        part = values[start : start + size]
        if not np.isnan(part).all():
            places = sorted({int(np.nanargmin(part)), int(np.nanargmax(part))})
            found += [[start + at, float(part[at])] for at in places]
    return found


def until(table: SeriesTable, series: Series, end: int, context: int, horizon: int) -> SeriesTable:
    """A table of the one series, as it was when its past ended."""
    first = max(0, end - context)
    start = int(table.clock.times(series.start, first + 1)[-1])
    known = series.known[first : end + horizon]
    part = Series(series.name, start, series.values[first:end], known)
    return replace(table, series=[part])


def series_forecast(run: OpenRun, asked: Window) -> dict[str, Any]:
    """What follows a series from a point of its past, beside what came; and the same with all known
    columns, if some are off.
    """
    check_view(run)
    with run.opened(asked.step) as forecaster:
        known = series_of(run, forecaster)
        series, end, table = window_of(known, forecaster, asked)
        data = forecaster.data
        with columns_off(forecaster.model, off_columns(known, forecaster, asked)):
            found = forecaster.forecast(table, samples=1)
        usual = forecaster.forecast(table, samples=1) if asked.off else None
    first = max(0, asked.first)
    last = min(len(series) + data.horizon, max(asked.last, end + data.horizon))
    first = max(first, last - MOST_STEPS)
    start = int(known.table.clock.times(series.start, first + 1)[-1])
    return {
        "name": series.name,
        "end": end,
        "first": first,
        "times": known.table.clock.labels(start, last - first),
        "values": plain(series.values[first:last]),
        **shown(found),
        "naive": plain(found.naive),
        "usual": usual and shown(usual),
        "moved": usual and moved(found, usual),
        "error": error(series.values[end : end + data.horizon], found.median, found.naive),
    }


def window_of(
    known: Known, forecaster: "Forecaster", asked: Window
) -> tuple[Series, int, SeriesTable]:
    """A series, where its past ends, and a table that ends there."""
    series = one_series(known.table, asked.series)
    data = forecaster.data
    first, last = ends_of(known.table, series, data.horizon)
    end = min(max(first, asked.end), last)
    return series, end, until(known.table, series, end, data.context, data.horizon)


def off_columns(known: Known, forecaster: "Forecaster", asked: Window) -> list[int]:
    phases = calendar_names(known.table, forecaster.data)
    parts = list(column_parts(known.table, phases).values())
    if any(each >= len(parts) or each < 0 for each in asked.off):
        raise RequestError(f"there are {len(parts)} known columns; reload the page")
    return [column for each in asked.off for column in parts[each]]


def shown(found: "Forecast") -> dict[str, Any]:
    return {
        "ahead": found.times,
        "median": plain(found.median),
        "intervals": {str(each): list(map(plain, found.interval(each))) for each in INTERVALS},
    }


def plain(values: Any) -> list[float | None]:
    """Numbers for JSON, which has no NaN."""
    return [None if np.isnan(value) else value for value in np.asarray(values, float).tolist()]


def moved(found: "Forecast", usual: "Forecast") -> dict[str, Any]:
    """How far the median is from the usual one: on average, and where it is furthest."""
    distance = found.median - usual.median
    furthest = int(np.abs(distance).argmax())
    return {
        "mean": float(np.abs(distance).mean()),
        "furthest": float(distance[furthest]),
        "time": found.times[furthest],
    }


def error(true: Any, median: Any, naive: Any) -> dict[str, float] | None:
    """The mean absolute error of a forecast and of the naive one; None if nothing came yet."""
    there = ~np.isnan(true)
    if not there.any():
        return None
    rows: Sequence[tuple[str, Any]] = (("model", median), (NAIVE, naive))
    return {name: float(np.abs(each[: len(true)] - true)[there].mean()) for name, each in rows}


def series_past(run: OpenRun, asked: Looked) -> dict[str, Any]:
    """Which parts of the past a forecast comes from: what hiding each of them does, and the
    attention of a Transformer.
    """
    from regard.inspect.series import series_maps

    check_view(run)
    with run.opened(asked.step) as forecaster:
        known = series_of(run, forecaster)
        _, end, table = window_of(known, forecaster, asked)
        with columns_off(forecaster.model, off_columns(known, forecaster, asked)):
            found = series_maps(forecaster, table)
        context = forecaster.data.context
    looks = bool(found.heads.size)
    layer, head = (None if each < 0 else each for each in (asked.layer, asked.head))
    layers, heads = found.heads.shape[:2]
    if looks and ((layer or 0) >= layers or (head or 0) >= heads):
        layer, head = None, None
    return {
        "end": end,
        "first": end - context,
        "size": found.steps,
        "parts": found.parts,
        "hidden": plain(found.hidden),
        "ahead": found.ahead,
        "heads": [heads] * layers if looks else [],
        "attention": found.attention(layer, head).weights if looks else [],
    }
