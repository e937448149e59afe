"""Intervals that hold as many values as they say, by what they held on held-out windows: conformal
prediction (Vovk et al. 2005; Romano et al. 2019).

Shapes: B windows, H steps of horizon, I intervals, G levels of quantiles.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.evaluate.series import (
    LEVELS,
    MIDDLE,
    Floats,
    Forecasts,
    normal_ranks,
    values_at,
)

# With fewer windows than this, all steps of the horizon share their factors.
WINDOWS_OF_A_STEP = 200
# Half the levels: each interval from LEVELS[i] to LEVELS[-1 - i], the widest first.
INTERVALS = MIDDLE
SHARES = np.array([1 - 2 * level for level in LEVELS[:INTERVALS]])
SMALLEST = 1e-12


@dataclass(frozen=True)
class Calibration:
    """How much wider the intervals have to be, as factors [H, I], [1, I] for all steps, or
    [B, H or 1, I] for each window; and the correlation of the errors of one step and the next,
    which paths are drawn with.
    """

    factors: Floats
    correlation: float = 0.0
    windows: int = 0

    @classmethod
    def none(cls) -> "Calibration":
        return cls(np.ones((1, INTERVALS)))

    @classmethod
    def of(cls, values: Floats, found: Forecasts) -> "Calibration":
        """By what came [B, H] after windows, and its forecasts."""
        ratios = outside(values, found)
        per_step = len(values) >= WINDOWS_OF_A_STEP
        columns = ratios if per_step else ratios.reshape(-1, 1, INTERVALS)
        factors = np.array([conformal(each) for each in columns.swapaxes(0, 1)])
        return cls(factors, correlation(values, found), len(values))

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any] | None) -> "Calibration":
        """As `facts` wrote it; none if there is none."""
        match facts:
            case {"factors": [*rows], "correlation": float(alike), "windows": int(windows)}:
                factors = np.array(rows, float)
                if factors.ndim == 2 and factors.shape[1] == INTERVALS:
                    return cls(factors, alike, windows)
        return cls.none()

    def facts(self) -> dict[str, Any]:
        return {
            "factors": self.factors.round(4).tolist(),
            "correlation": round(self.correlation, 4),
            "windows": self.windows,
        }

    def apply(self, found: Forecasts) -> Forecasts:
        """The same forecasts with calibrated quantiles; mean and median stay."""
        middle = found.quantiles[..., MIDDLE : MIDDLE + 1]
        one = np.ones_like(self.factors[..., :1])
        factors = np.concatenate((self.factors, one, self.factors[..., ::-1]), -1)
        quantiles = middle + (found.quantiles - middle) * factors
        # A factor of its own for each interval could let quantiles cross.
        lower = np.minimum.accumulate(quantiles[..., MIDDLE::-1], -1)[..., ::-1]
        upper = np.maximum.accumulate(quantiles[..., MIDDLE:], -1)
        return Forecasts(found.mean, np.concatenate((lower, upper[..., 1:]), -1))

    def wider(self, by: Floats) -> "Calibration":
        """The same with further factors [B, I] for each window."""
        return replace(self, factors=self.factors * by[:, None])

    def paths(self, found: Forecasts, count: int, seed: int = 1) -> Floats:
        """Paths [B, count, H] whose values have the calibrated quantiles. They are those that the
        model has drawn, or else neighbours are correlated as errors were on held-out windows.
        """
        if found.paths is not None:
            scores = normal_ranks(found.paths[:, :count], found.quantiles[:, None])
        else:
            random = np.random.Generator(np.random.Philox(key=seed))
            scores = random.standard_normal((len(found.mean), count, found.mean.shape[1]))
            keep = math.sqrt(1 - self.correlation**2)
            for step in range(1, scores.shape[2]):
                before = self.correlation * scores[..., step - 1]
                scores[..., step] = before + keep * scores[..., step]
        return values_at(self.apply(found).quantiles, scores)


def outside(values: Floats, found: Forecasts) -> Floats:
    """How much wider each interval would have to be to hold a value, as a factor: [B, H, I]."""
    middle = found.quantiles[..., MIDDLE]
    below = middle[..., None] - found.quantiles[..., :INTERVALS]
    above = found.quantiles[..., : -INTERVALS - 1 : -1] - middle[..., None]
    away = (values - middle)[..., None]
    ratio: Floats = np.where(away < 0, -away / below.clip(SMALLEST), away / above.clip(SMALLEST))
    return ratio


def conformal(ratios: Floats) -> Floats:
    """[N, I] → [I]: the factor that holds a share of all ratios, and of one more that is unknown
    yet. Missing ones (NaN) do not count.
    """
    found = np.ones(INTERVALS)
    for place, share in enumerate(SHARES):
        there = np.sort(ratios[:, place][~np.isnan(ratios[:, place])])
        if len(there):
            found[place] = there[min(math.ceil((len(there) + 1) * share), len(there)) - 1]
    return found


def correlation(values: Floats, found: Forecasts) -> float:
    """The correlation of the errors of neighbouring steps, each as a quantile of the normal
    distribution.
    """
    ranks = normal_ranks(values, found.quantiles)
    first, second = ranks[:, :-1].ravel(), ranks[:, 1:].ravel()
    there = ~(np.isnan(first) | np.isnan(second))
    if there.sum() < 3 or first[there].std() == 0 or second[there].std() == 0:
        return 0.0
    return float(np.corrcoef(first[there], second[there])[0, 1].clip(-0.99, 0.999))
