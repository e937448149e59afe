"""Intervals that follow newer data than they were calibrated on: adaptive conformal inference
(Gibbs and Candès 2021). Whatever the data does, they hold what they say in the long run.

Shapes: B windows, H steps of horizon, I intervals, S series.
"""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.batches import Indices
from regard.data.series_windows import LaidOut, Windows
from regard.evaluate.calibration import INTERVALS, SHARES, Calibration, outside
from regard.evaluate.forecasts import AT_ONCE, forecast_windows
from regard.evaluate.series import Floats, Forecasts
from regard.layers.choices import Scaling

# By how much the logarithm of a width grows after a window of which nothing was inside.
RATE = 0.3


class Following:
    """How much wider than calibrated the intervals of each series have to be, by what those of its
    newer windows held. An interval that held too little grows, and one that held too much shrinks.
    """

    def __init__(self, series: int, horizon: int, stride: int) -> None:
        self.logs = np.zeros((series, INTERVALS))
        self.turns = math.ceil(horizon / stride)  # until what came after a window is known
        self.rate = RATE * min(1.0, stride / horizon)
        self.waiting: deque[tuple[int, Indices, Floats]] = deque()

    def widths(self, turns: Indices, series: Indices, ratios: Floats) -> Floats:
        """Factors [B, I] for windows: their turns, which must not fall, their series, and how much
        wider each interval would have to be to hold what came [B, H, I]. A window knows only what
        came before it begins.
        """
        found = np.ones((len(turns), INTERVALS))
        for turn in np.unique(turns).tolist():
            self.learn(until=turn - self.turns)
            rows = np.flatnonzero(turns == turn)
            found[rows] = np.exp(self.logs[series[rows]])
            self.waiting.append((turn, series[rows], missed(ratios[rows], found[rows])))
        return found

    def learn(self, until: int) -> None:
        while self.waiting and self.waiting[0][0] <= until:
            _, series, excess = self.waiting.popleft()
            self.logs[series] += self.rate * excess

    def now(self) -> Floats:
        """Factors [S, I] for windows that begin after all that were seen."""
        while self.waiting:
            self.learn(until=self.waiting[0][0])
        found: Floats = np.exp(self.logs)
        return found


def missed(ratios: Floats, factors: Floats) -> Floats:
    """By how much the share of values outside each interval is larger than it should be, [B, I];
    0 where no value is there.
    """
    there = ~np.isnan(ratios)
    outside = (there & (ratios > factors[:, None])).sum(1)
    count = there.sum(1)
    return np.where(count > 0, outside / count.clip(min=1) - (1 - SHARES), 0.0)


class Followed(NamedTuple):
    """Forecasts of some windows."""

    rows: Indices
    future: Floats  # what came, [B, H]
    plain: Forecasts
    calibrated: Forecasts


@dataclass(frozen=True)
class Turns:
    """Windows of series in the order of time, up to the end of each."""

    windows: Windows
    turns: Indices  # [B]; 0 is the last window of a series, -1 the one before
    newer: NDArray[np.bool_]  # [B], than what the model was calibrated on
    stride: int

    @classmethod
    def of(
        cls, laid: LaidOut, scaling: Scaling, newer: Indices, stride: int, count: int, more: int
    ) -> "Turns":
        """The last windows of each series, and as many before them for intervals to follow as are
        newer than a step [S], up to `more`.
        """
        last = laid.lengths - laid.horizon
        first = last - (count - 1) * stride
        first = np.minimum(first, np.maximum(newer, first - more * stride)).clip(1)
        places = laid.places(first, last, stride)
        turns = (places[:, 1] - last[places[:, 0]]) // stride
        order = np.argsort(turns, kind="stable")
        places, turns = places[order], turns[order]
        is_newer = places[:, 1] >= newer[places[:, 0]]
        return cls(Windows(laid, places, scaling), turns, is_newer, stride)

    def forecasts(
        self, model: Any, calibration: Calibration, following: Following
    ) -> Iterator[Followed]:
        for start in range(0, len(self.turns), AT_ONCE):
            rows = np.arange(start, min(start + AT_ONCE, len(self.turns)))
            batch, scale, future = self.windows.scaled(rows)
            plain = forecast_windows(model, batch, scale)
            found = calibration.apply(plain)
            own = self.newer[rows]
            wider = np.ones((len(rows), INTERVALS))
            wider[own] = following.widths(
                self.turns[rows][own],
                self.windows.places[rows, 0][own],
                outside(future[own], Forecasts(found.mean[own], found.quantiles[own])),
            )
            yield Followed(rows, future, plain, calibration.wider(wider).apply(plain))
