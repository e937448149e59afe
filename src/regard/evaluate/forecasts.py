"""Forecasts of windows by a model, and how they compare with what came.

Shapes: B windows, H steps of horizon, G levels of quantiles.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.batches import Indices
from regard.data.series_windows import Scale, SeriesBatch, Windows
from regard.decode.paths import draw_paths
from regard.evaluate.calibration import Calibration
from regard.evaluate.pairs import device_of
from regard.evaluate.seasonal_naive import SeasonalErrors, seasonal_naive
from regard.evaluate.series import LEVELS, Floats, Forecasts, Tally
from regard.evaluate.validation import Findings, Sample, timed
from regard.layers.distributions import DISTRIBUTIONS
from regard.objectives import forecast

AT_ONCE = 256
PATHS = 100
SEED = 20_190_407  # of drawn paths, so that the same question has the same answer


@torch.inference_mode()
def forecast_windows(model: Any, batch: SeriesBatch, scale: Scale, paths: int = PATHS) -> Forecasts:
    """Forecasts of windows, in the units of the data."""
    head = DISTRIBUTIONS[model.config.head]
    batch = batch.to(device_of(model))
    if getattr(model.config, "forecast", "direct") == "paths":
        drawn = scale.undo(as_floats(drawn_paths(model, batch, max(PATHS, paths))))
        quantiles = np.quantile(drawn, LEVELS, axis=1).transpose(1, 2, 0)
        return Forecasts(drawn.mean(1), quantiles, drawn)
    parameters = model(batch.past, batch.known).float()
    found = head.mean(parameters), head.quantiles(parameters, LEVELS)
    return Forecasts(*(scale.undo(as_floats(each)) for each in found))


def drawn_paths(model: Any, batch: SeriesBatch, paths: int) -> Tensor:
    """Scaled paths [B, paths, H], patch by patch."""
    size, horizon = model.config.patch_size, model.sizes.horizon
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        drawn = draw_paths(
            model.step,
            model.start(batch.past, batch.known),
            batch.past[:, -size:],
            DISTRIBUTIONS[model.config.head].sample,
            -(-horizon // size),
            paths,
        )
    return drawn[..., :horizon]


def as_floats(numbers: Tensor) -> Floats:
    return numbers.double().cpu().numpy()


@dataclass(frozen=True)
class HeldOutSeries:
    """Windows of the last part of the time, which training never sees."""

    windows: Windows
    season: int
    names: Sequence[str]  # of the series
    errors: Sequence[SeasonalErrors]
    calibration: Calibration

    @classmethod
    def of(
        cls,
        windows: Windows,
        season: int,
        names: Sequence[str],
        calibration: Calibration | None = None,
    ) -> "HeldOutSeries":
        laid = windows.series
        errors = [
            SeasonalErrors.of(laid.values[start : start + length], season)
            for start, length in zip(laid.starts, laid.lengths, strict=True)
        ]
        return cls(windows, season, names, errors, calibration or Calibration.none())

    def parts(self) -> list[Indices]:
        rows = np.arange(len(self.windows))
        return [rows[i : i + AT_ONCE] for i in range(0, len(rows), AT_ONCE)]

    def seasonal(self, rows: Indices) -> tuple[Floats, Floats]:
        """The mean absolute and squared error of the naive forecast before each window, [B]."""
        places = self.windows.places[rows]
        found = [
            (self.errors[series].absolute[step], self.errors[series].squared[step])
            for series, step in places.tolist()
        ]
        absolute, squared = np.array(found).reshape(-1, 2).T
        return absolute, squared

    def naive(self, rows: Indices) -> Forecasts:
        laid = self.windows.series
        values, _ = laid.slices(self.windows.places[rows])
        _, squared = self.seasonal(rows)
        return seasonal_naive(values[:, : laid.context], laid.horizon, self.season, squared)

    def forecasts(self, model: Any) -> Iterator[tuple[Indices, Floats, Forecasts]]:
        """The rows of some windows, what came after them, and their forecasts."""
        for rows in self.parts():
            batch, scale, future = self.windows.scaled(rows)
            yield rows, future, forecast_windows(model, batch, scale)

    def findings(self, model: Any) -> Findings:
        horizon = self.windows.series.horizon
        mine, naive = Tally(horizon), Tally(horizon)
        samples: tuple[Sample, ...] = ()
        for rows, future, found in self.forecasts(model):
            absolute, _ = self.seasonal(rows)
            mine.add(future, found, absolute)
            naive.add(future, self.naive(rows), absolute)
            samples = samples or self.samples(rows, future, found)
        scores, theirs = mine.scores(), naive.scores()
        chosen = {name: scores[name] for name in ("mase", "wql", "coverage_80")}
        chosen |= {f"naive_{name}": theirs[name] for name in ("mase", "wql")}
        return Findings(self.loss(model), chosen, samples)

    def seconds(self, model: Any) -> float:
        """About how long `findings` takes, by one part."""
        parts = self.parts()
        batch, scale, _ = self.windows.scaled(parts[0])
        return 1.5 * len(parts) * timed(lambda: forecast_windows(model, batch, scale))

    @torch.inference_mode()
    def loss(self, model: Any) -> float:
        losses = [
            float(forecast(model, self.windows.batch(rows).to(device_of(model))).total)
            for rows in self.parts()
        ]
        return sum(losses) / len(self.windows)

    def halves(self) -> tuple[Indices, Indices]:
        """The rows whose future begins in the earlier and in the later half of what is held out of
        their series.
        """
        series, steps = self.windows.places.T
        first, last = (np.zeros(len(self.errors), np.int64) for _ in range(2))
        first[:] = np.iinfo(np.int64).max
        np.minimum.at(first, series, steps)
        np.maximum.at(last, series, steps)
        later = 2 * steps >= (first + last)[series]
        return np.flatnonzero(~later), np.flatnonzero(later)

    def samples(self, rows: Indices, future: Floats, found: Forecasts) -> tuple[Sample, ...]:
        """The end of the horizon of the first windows of different series."""
        series = self.windows.places[rows, 0]
        chosen = np.unique(series, return_index=True)[1][:3]
        low, high = found.interval(80)
        return tuple(
            Sample(
                f"{self.names[series[row]]}, {future.shape[1]} steps ahead",
                number(future[row, -1]),
                f"{number(found.median[row, -1])} "
                f"({number(low[row, -1])} … {number(high[row, -1])})",
            )
            for row in chosen.tolist()
        )


def joined(found: Sequence[Forecasts]) -> Forecasts:
    """The forecasts of several parts, without paths."""
    mean, quantiles = (np.concatenate([each[i] for each in found]) for i in range(2))
    return Forecasts(mean, quantiles)


def part(found: Forecasts, rows: Indices) -> Forecasts:
    return Forecasts(found.mean[rows], found.quantiles[rows])


def number(value: float) -> str:
    """A number for people, with four digits: 0.01234, 12.34, 1,234,567."""
    if np.isnan(value):
        return "missing"
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"
