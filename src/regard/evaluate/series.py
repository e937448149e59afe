"""How good forecasts are: the errors of their middle, and of the shares that they give.

Shapes: B windows, H steps of horizon, G levels of quantiles, M steps of a season.
"""

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# The levels of the quantiles that forecasts are kept as. Between them, and beyond them, quantiles
# are on a straight line with those of the normal distribution.
LEVELS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45),
    0.5,
    *(0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995),
)
MIDDLE = LEVELS.index(0.5)
# The levels of the weighted quantile loss, and the intervals whose coverage is counted.
DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
INTERVALS = (50, 80, 95)
# Levels at which the continuous ranked probability score adds up quantile losses.
FINE = tuple((i + 0.5) / 200 for i in range(200))


class Forecasts(NamedTuple):
    mean: Floats  # [B, H]
    quantiles: Floats  # [B, H, G], at LEVELS
    paths: Floats | None = None  # [B, paths, H], where a model draws them

    @property
    def median(self) -> Floats:
        return self.quantiles[..., MIDDLE]

    def at(self, *levels: float) -> Floats:
        """The quantiles at any levels, [B, H, levels]."""
        return at_levels(self.quantiles, levels)

    def interval(self, percent: float) -> tuple[Floats, Floats]:
        """The ends of an interval, with the same share outside on each side."""
        ends = self.at((1 - percent / 100) / 2, (1 + percent / 100) / 2)
        return ends[..., 0], ends[..., 1]


def scores_of(levels: tuple[float, ...]) -> Floats:
    """Quantiles of the standard normal distribution."""
    return np.array([NormalDist().inv_cdf(level) for level in levels])


_KNOWN = scores_of(LEVELS)


def at_levels(quantiles: Floats, levels: tuple[float, ...]) -> Floats:
    """Quantiles […, G] at LEVELS → at other levels."""
    wanted = scores_of(levels)
    below = np.searchsorted(_KNOWN, wanted).clip(1, len(_KNOWN) - 1) - 1
    share = (wanted - _KNOWN[below]) / (_KNOWN[below + 1] - _KNOWN[below])
    found: Floats = quantiles[..., below] * (1 - share) + quantiles[..., below + 1] * share
    return found


def values_at(quantiles: Floats, scores: Floats) -> Floats:
    """Values [B, N, H] that have the same place among quantiles [B, H, G] as scores [B, N, H] have
    in the standard normal distribution.
    """
    below = np.searchsorted(_KNOWN, scores).clip(1, len(_KNOWN) - 1) - 1
    share = (scores - _KNOWN[below]) / (_KNOWN[below + 1] - _KNOWN[below])
    rows, _, steps = np.ix_(*map(np.arange, scores.shape))
    low, high = quantiles[rows, steps, below], quantiles[rows, steps, below + 1]
    found: Floats = low * (1 - share) + high * share
    return found


def normal_ranks(values: Floats, quantiles: Floats) -> Floats:
    """The reverse of `values_at`, […] and […, G] → […]; beyond the outermost quantiles it is their
    own score.
    """
    below = (values[..., None] >= quantiles).sum(-1).clip(1, len(_KNOWN) - 1) - 1
    low = np.take_along_axis(quantiles, below[..., None], -1)[..., 0]
    high = np.take_along_axis(quantiles, below[..., None] + 1, -1)[..., 0]
    share = ((values - low) / (high - low).clip(min=1e-300)).clip(0, 1)
    found: Floats = _KNOWN[below] + share * (_KNOWN[below + 1] - _KNOWN[below])
    return found


def quantile_loss(values: Floats, quantiles: Floats, levels: tuple[float, ...]) -> Floats:
    """The loss that the quantile of a level minimises, doubled: […] and […, G] → […, G]. At the
    median it is the absolute error.
    """
    above = values[..., None] - quantiles
    share = np.array(levels)
    return 2 * np.maximum(share * above, (share - 1) * above)


def crps(values: Floats, quantiles: Floats) -> Floats:
    """The continuous ranked probability score ∫ (F(x) − 1{x ≥ y})² dx, which is the mean of the
    quantile losses of all levels: […] and […, G] → […]
    """
    found: Floats = quantile_loss(values, at_levels(quantiles, FINE), FINE).mean(-1)
    return found


@dataclass
class Tally:
    """Sums over windows, from which the scores follow. Missing values count for nothing."""

    horizon: int
    steps: dict[str, Floats] = field(default_factory=dict)  # sums by step of the horizon
    levels: Floats = field(default_factory=lambda: np.zeros(len(DECILES)))
    scaled_errors: list[Floats] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    smallest: float = np.inf
    hours: Floats = field(default_factory=lambda: np.zeros((24, 2)))  # errors, and how many
    windows: int = 0

    def add(
        self,
        values: Floats,
        found: Forecasts,
        seasonal_error: Floats,
        hours: NDArray[np.int64] | None = None,
    ) -> None:
        """Count windows: what came [B, H], its forecasts, the mean error [B] of the seasonal
        naive forecast on the past, and the hour of the day of each step [B, H].
        """
        there = ~np.isnan(values)
        error = np.where(there, np.abs(found.median - values), 0.0)
        squared = np.where(there, (found.mean - values) ** 2, 0.0)
        self._sum("count", there)
        self._sum("error", error)
        self._sum("squared", squared)
        self._sum("size", np.where(there, np.abs(values), 0.0))
        self._sum("crps", np.where(there, crps(values, found.quantiles), 0.0))
        for percent in INTERVALS:
            low, high = found.interval(percent)
            self._sum(f"inside {percent}", there & (values >= low) & (values <= high))
            self._sum(f"width {percent}", np.where(there, high - low, 0.0))
        losses = quantile_loss(values, found.at(*DECILES), DECILES)
        self.levels += np.where(there[..., None], losses, 0.0).sum((0, 1))
        count = there.sum(1)
        usable = (seasonal_error > 0) & (count > 0)
        self.scaled_errors.append(error.sum(1)[usable] / count[usable] / seasonal_error[usable])
        self.smallest = min(self.smallest, float(np.where(there, values, np.inf).min()))
        if self.smallest > 0:
            self.shares.append(float((error[there] / values[there]).sum()))
        if hours is not None:
            for column, numbers in enumerate((error, there.astype(float))):
                self.hours[:, column] += np.bincount(hours[there], numbers[there], minlength=24)
        self.windows += len(values)

    def _sum(self, name: str, numbers: NDArray[np.generic]) -> None:
        self.steps[name] = self.steps.get(name, np.zeros(self.horizon)) + numbers.sum(0)

    def _mean(self, name: str) -> float:
        return float(self.steps[name].sum() / max(1.0, self.steps["count"].sum()))

    def scores(self) -> dict[str, float | None]:
        """MAE, MSE, MASE, MAPE, WQL, CRPS, and the percent of values within each interval. MAPE is
        None unless all values are above 0, MASE unless the past of some series varies.
        """
        errors = np.concatenate([np.zeros(0), *self.scaled_errors])
        size = self.steps["size"].sum()
        return {
            "mae": self._mean("error"),
            "mse": self._mean("squared"),
            "mase": float(errors.mean()) if len(errors) else None,
            "mape": 100 * sum(self.shares) / float(self.steps["count"].sum())
            if self.smallest > 0
            else None,
            "wql": float(self.levels.mean() / size) if size else None,
            "crps": self._mean("crps"),
            **{f"coverage_{each}": 100 * self._mean(f"inside {each}") for each in INTERVALS},
        }

    def by_step(self, name: str) -> Floats:
        """The mean of a sum at each step of the horizon, [H]."""
        found: Floats = self.steps[name] / self.steps["count"].clip(min=1)
        return found
