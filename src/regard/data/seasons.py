"""The season of series: after how many steps their values come again.

The step suggests seasons, such as a day and a week for hours, and the data confirms them: what
changed in one season changes alike in the next. Changes are compared rather than values, since a
value that wanders is like itself at any distance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.series import Floats, Series, SeriesTable
from regard.data.steps import Step

# Series that are looked at, evenly spread, and how many of their last values.
MOST_SERIES, MOST_VALUES = 100, 20_000
# Correlations of changes below this are no season, however sure.
LEAST_CORRELATION = 0.1
# How far a correlation must be from chance, in standard errors.
SURE = 3.0
# A longer season is taken if the error of repeating it is smaller by this factor.
CLEARLY_BETTER = 0.97
# A season that nothing suggests is a wave that this share of the series have. It is seen so often,
# and is so much stronger than the waves of nearly its length: this many on each side of it.
MANY = 0.3
FEWEST_WAVES = 8
STANDS_OUT, WIDTH = 50.0, 8

_DAY = 86_400.0
_NAMES = {
    60.0: "a minute",
    3600.0: "an hour",
    _DAY: "a day",
    7 * _DAY: "a week",
    365.2425 * _DAY: "a year",
}


@dataclass(frozen=True)
class Season:
    """After how many steps values come again.

    Attributes
    ----------
    length : int
        The season that a naive forecast repeats; 1 if values do not come again.
    lengths : tuple of int
        All seasons that the data confirms, the shortest first: (24, 168) for hours.
    why : str
        A sentence for the person whose data it is.
    """

    length: int
    lengths: tuple[int, ...]
    why: str


def usual_seasons(step: Step) -> tuple[int, ...]:
    """The seasons that a step suggests, the shortest first: a day and a week for hours."""
    match step.unit:
        case "row":
            return ()
        case "weekday":
            return (5,) if step.count == 1 else ()
        case "month" | "month-end":
            return (12 // step.count,) if 12 % step.count == 0 and step.count < 12 else ()
        case "day":
            return {1: (7, 365), 7: (52,)}.get(step.count, ())
    found = [seconds / step.seconds for seconds in (60.0, 3600.0, _DAY, 7 * _DAY)]
    return tuple(int(each) for each in found if each >= 4 and each.is_integer())[-2:]


def season_of(table: SeriesTable) -> Season:
    """The season of a table: one that its step suggests, or else one that its values show."""
    step = table.clock.step
    changes = [_changes(each) for each in _some(table.series)]
    suggested = usual_seasons(step)
    found = {each: _correlation(changes, each) for each in suggested}
    sure = {each: found[each] for each in suggested if found[each] > _least(changes, each)}
    if not sure and (shown := _shown(_some(table.series))):
        why = f"values come again after {shown} steps: a wave of that length stands out"
        return Season(shown, (shown,), why)
    if not sure:
        tried = " or ".join(f"{each} steps ({_name(step, each)})" for each in suggested)
        after = f" after {tried}" if tried else ""
        return Season(1, (), f"values do not come again{after}, so a naive forecast is the last")
    lengths = tuple(sorted(sure))
    length = lengths[0]
    errors = {each: _error(_some(table.series), each) for each in lengths}
    for each in lengths[1:]:
        if errors[each] < CLEARLY_BETTER * errors[length]:
            length = each
    name = _name(step, length)
    of = f" ({name})" if name else ""
    others = [str(each) for each in lengths if each != length]
    more = f", as they do after {' and '.join(others)}" if others else ""
    return Season(
        length,
        lengths,
        f"values come again after {length} steps{of}{more}: changes correlate by"
        f" {sure[length]:.2f}",
    )


def _some(series: Sequence[Series]) -> list[Series]:
    count = min(len(series), MOST_SERIES)
    return [series[(2 * i + 1) * len(series) // (2 * count)] for i in range(count)]


def _changes(series: Series) -> Floats:
    """From each value to the next, without the trend, and so that a large one does not decide."""
    found = np.diff(series.values[-MOST_VALUES:])
    if np.isnan(found).all():
        return found[:0]
    found = found - np.nanmean(found)
    size = np.nanmean(np.abs(found))
    return np.clip(found / size, -5, 5) if size > 0 else found[:0]


def _correlation(changes: Sequence[Floats], lag: int) -> float:
    """Of changes and those a season later, on average over the series that are long enough."""
    found = []
    for each in changes:
        if len(each) < 2 * lag:
            continue
        one, other = each[:-lag], each[lag:]
        both = ~(np.isnan(one) | np.isnan(other))
        power = np.nanmean(each**2)
        if both.any() and power > 0:
            found.append(float(np.mean(one[both] * other[both]) / power))
    return float(np.mean(found)) if found else 0.0


def _least(changes: Sequence[Floats], lag: int) -> float:
    """The correlation that is more than chance, in the longest series."""
    longest = max((int((~np.isnan(each)).sum()) for each in changes), default=0)
    return max(LEAST_CORRELATION, SURE / float(np.sqrt(max(1, longest - lag))))


def _shown(series: Sequence[Series]) -> int:
    """A season that values show, whatever the step: one that many series have; 0 for none."""
    found = Counter(filter(None, map(_wave, series)))
    wave, count = found.most_common(1)[0] if found else (0, 0)
    if count < MANY * len(series):
        return 0
    # A wave may be half or a third of the season, or a step beside it.
    beside = 2 if wave > 6 else 0
    found_near = []
    for times in (1, 2, 3, 4):
        near = range(times * wave - beside, times * wave + beside + 1)
        errors = {each: _error(series, each) for each in near}
        found_near.append(min((error, each) for each, error in errors.items()))
    least = min(found_near)[0]
    return next(each for error, each in found_near if error * CLEARLY_BETTER <= least)


def _wave(series: Series) -> int:
    """The length of the wave that most stands out of those of nearly its length; 0 for none."""
    values = series.values[-MOST_VALUES:]
    there = ~np.isnan(values)
    if len(values) < 4 * FEWEST_WAVES or not there.any():
        return 0
    filled = np.where(there, values - values[there].mean(), 0.0) * np.hanning(len(values))
    power = np.abs(np.fft.rfft(filled)) ** 2
    window = np.lib.stride_tricks.sliding_window_view(
        np.pad(power, WIDTH, mode="edge"), 2 * WIDTH + 1
    )
    clear = power / np.maximum(np.median(window, 1), 1e-12 * power.max() + 1e-300)
    clear[:FEWEST_WAVES] = 0.0
    best = int(np.argmax(clear))
    return round(len(values) / best) if clear[best] > STANDS_OUT else 0


def _error(series: Sequence[Series], lag: int) -> float:
    """Of repeating what was a season earlier, beside the spread of each series."""
    found = []
    for each in series:
        values = each.values[-MOST_VALUES:]
        apart = np.abs(values[lag:] - values[:-lag])
        spread = np.nanstd(values)
        if spread > 0 and (~np.isnan(apart)).any():
            found.append(float(np.nanmean(apart) / spread))
    return float(np.mean(found)) if found else np.inf


def _name(step: Step, length: int) -> str:
    """A day, for 24 hours."""
    seconds = step.seconds * length
    near = [name for size, name in _NAMES.items() if abs(seconds - size) <= 0.01 * size]
    return near[0] if near and step.unit != "row" else ""
