"""The forecast that everyone must beat: the values of one season before.

Shapes: B windows, C steps of the past, H steps of horizon, G levels of quantiles.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.evaluate.series import LEVELS, Floats, Forecasts, scores_of


@dataclass(frozen=True)
class SeasonalErrors:
    """How far the values of a series were from those of one season before, up to every step."""

    absolute: Floats  # [T + 1], the mean before each step; NaN where there is none yet
    squared: Floats  # [T + 1]

    @classmethod
    def of(cls, values: Floats, season: int) -> "SeasonalErrors":
        difference = np.full(len(values), np.nan)
        difference[season:] = values[season:] - values[: max(0, len(values) - season)]
        there = ~np.isnan(difference)
        count = np.concatenate(([0], there.cumsum()))
        sums = []
        for power in (np.abs(difference), difference**2):
            total = np.concatenate(([0.0], np.where(there, power, 0.0).cumsum()))
            sums.append(np.where(count > 0, total / count.clip(min=1), np.nan))
        return cls(*sums)


def seasonal_naive(past: Floats, horizon: int, season: int, squared_errors: Floats) -> Forecasts:
    """Repeat the last season of [B, C]. Where a value is missing, an earlier season is taken, or
    else the last value. The errors are taken as normal, with the mean square that the past had [B],
    which grows with every season ahead.
    """
    context = past.shape[1]
    ahead = np.arange(horizon)
    mean = np.full((len(past), horizon), np.nan)
    for back in range(context // season):
        place = context - (back + 1) * season + ahead % season
        mean = np.where(np.isnan(mean), past[:, place], mean)
    mean = np.where(np.isnan(mean), last_values(past)[:, None], mean)
    width = np.sqrt(np.nan_to_num(squared_errors)[:, None] * (ahead // season + 1))
    return Forecasts(mean, mean[..., None] + width[..., None] * scores_of(LEVELS))


def last_values(past: Floats) -> Floats:
    """The last value of each window that is not missing."""
    there: NDArray[np.bool_] = ~np.isnan(past)
    last = past.shape[1] - 1 - there[:, ::-1].argmax(1)
    found: Floats = past[np.arange(len(past)), last]
    return found
