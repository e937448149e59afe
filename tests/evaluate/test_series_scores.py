"""Scores of forecasts against formulas written out in another way."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from regard.evaluate.seasonal_naive import SeasonalErrors, seasonal_naive
from regard.evaluate.series import (
    DECILES,
    LEVELS,
    MIDDLE,
    Floats,
    Forecasts,
    Tally,
    at_levels,
    crps,
    normal_ranks,
    quantile_loss,
    scores_of,
    values_at,
)


def normal(mean: Floats, width: Floats) -> Forecasts:
    return Forecasts(mean, mean[..., None] + width[..., None] * scores_of(LEVELS))


def some(windows: int = 7, horizon: int = 5) -> tuple[Floats, Forecasts, Floats]:
    random = np.random.default_rng(4)
    mean = 10 + random.normal(size=(windows, horizon))
    width = random.uniform(0.5, 2, (windows, horizon))
    values = mean + width * random.normal(size=(windows, horizon))
    return values, normal(mean, width), random.uniform(0.5, 2, windows)


def test_every_score_is_its_formula() -> None:
    values, found, errors = some()
    tally = Tally(5)
    tally.add(values[:3], Forecasts(*(part[:3] for part in found[:2])), errors[:3])
    tally.add(values[3:], Forecasts(*(part[3:] for part in found[:2])), errors[3:])
    scores = tally.scores()
    pairs = [(b, h) for b in range(7) for h in range(5)]
    away = {p: abs(values[p] - found.median[p]) for p in pairs}
    assert scores["mae"] == pytest.approx(sum(away.values()) / 35)
    assert scores["mse"] == pytest.approx(sum((values[p] - found.mean[p]) ** 2 for p in pairs) / 35)
    assert scores["mase"] == pytest.approx(
        sum(sum(away[b, h] for h in range(5)) / 5 / errors[b] for b in range(7)) / 7
    )
    assert scores["mape"] == pytest.approx(100 * sum(away[p] / values[p] for p in pairs) / 35)
    total = 0.0
    for level in DECILES:
        score = NormalDist().inv_cdf(level)
        for p in pairs:
            width = (found.quantiles[p][-1] - found.quantiles[p][0]) / (
                2 * NormalDist().inv_cdf(LEVELS[-1])
            )
            apart = values[p] - (found.mean[p] + score * width)
            total += 2 * (level * apart if apart > 0 else (level - 1) * apart)
    expected = total / 9 / sum(abs(values[p]) for p in pairs)
    assert scores["wql"] == pytest.approx(expected)
    for percent in (50, 80, 95):
        low, high = found.interval(percent)
        inside = sum(low[p] <= values[p] <= high[p] for p in pairs)
        assert scores[f"coverage_{percent}"] == pytest.approx(100 * inside / 35)


def test_missing_values_count_for_nothing() -> None:
    values, found, errors = some()
    holes = values.copy()
    holes[2] = np.nan
    holes[4, 1] = np.nan
    with_holes, without = Tally(5), Tally(5)
    with_holes.add(holes, found, errors)
    kept = [0, 1, 3, 5, 6]
    without.add(values[kept], Forecasts(found.mean[kept], found.quantiles[kept]), errors[kept])
    rest = Tally(5)
    rest.add(holes[[4]], Forecasts(found.mean[[4]], found.quantiles[[4]]), errors[[4]])
    mine, others = with_holes.scores(), (without.scores(), rest.scores())
    assert mine["mae"] == pytest.approx((25 * others[0]["mae"] + 4 * others[1]["mae"]) / 29)  # type: ignore[operator]
    assert mine["mase"] == pytest.approx((5 * others[0]["mase"] + others[1]["mase"]) / 6)  # type: ignore[operator]
    assert all(math.isfinite(value) for value in mine.values() if value is not None)


def test_a_percentage_is_only_given_where_it_makes_sense() -> None:
    values, found, errors = some()
    for wrong in (0.0, -3.0):
        values[3, 3] = wrong
        tally = Tally(5)
        tally.add(values, found, errors)
        assert tally.scores()["mape"] is None


def test_a_constant_past_gives_no_scaled_error() -> None:
    values, found, errors = some()
    tally = Tally(5)
    tally.add(values, found, np.zeros(7))
    assert tally.scores()["mase"] is None
    tally.add(values, found, np.where(np.arange(7) == 0, errors, np.nan))
    assert tally.scores()["mase"] is not None


def test_crps_is_the_integral_over_the_squared_difference_of_distributions() -> None:
    for mean, width, value in ((0.0, 1.0, 0.3), (5.0, 2.0, 1.0), (-1.0, 0.5, -0.9)):
        grid = np.linspace(mean - 12 * width, mean + 12 * width, 200_001)
        below = np.array([NormalDist(mean, width).cdf(x) for x in grid[::100]])
        below = np.interp(grid, grid[::100], below)
        expected = float(((below - (grid >= value)) ** 2).sum() * (grid[1] - grid[0]))
        z = (value - mean) / width
        closed = width * (
            z * (2 * NormalDist().cdf(z) - 1) + 2 * NormalDist().pdf(z) - 1 / math.sqrt(math.pi)
        )
        quantiles = normal(np.array([mean]), np.array([width])).quantiles
        found = crps(np.array([value]), quantiles)
        assert expected == pytest.approx(closed, rel=1e-3)
        assert float(found[0]) == pytest.approx(closed, rel=5e-3)


def test_the_loss_of_the_median_is_the_absolute_error() -> None:
    values, found, _ = some()
    losses = quantile_loss(values, found.quantiles, LEVELS)
    np.testing.assert_allclose(losses[..., MIDDLE], np.abs(values - found.median))


def test_quantiles_between_levels_follow_the_normal_distribution() -> None:
    found = normal(np.array([[3.0]]), np.array([[2.0]]))
    for level in (0.001, 0.07, 0.33, 0.5, 0.92, 0.999):
        expected = NormalDist(3, 2).inv_cdf(level)
        assert float(at_levels(found.quantiles, (level,))[0, 0, 0]) == pytest.approx(expected)


def test_ranks_and_values_are_each_others_reverse() -> None:
    _, found, _ = some()
    scores = np.linspace(-2, 2, 7 * 3 * 5).reshape(7, 3, 5)
    values = values_at(found.quantiles, scores)
    np.testing.assert_allclose(normal_ranks(values, found.quantiles[:, None]), scores, atol=1e-9)


def test_the_naive_forecast_repeats_the_last_season() -> None:
    past = np.array([[1.0, 2, 3, 4, 5, 6, 7], [1.0, 2, 3, 4, np.nan, 6, 7]])
    found = seasonal_naive(past, 8, 3, np.array([4.0, 1.0]))
    assert found.mean[0].tolist() == [5, 6, 7, 5, 6, 7, 5, 6]
    assert found.mean[1].tolist() == [2, 6, 7, 2, 6, 7, 2, 6]
    low, high = found.interval(80)
    widths = (high - low)[0] / (2 * NormalDist().inv_cdf(0.9))
    np.testing.assert_allclose(widths, [2, 2, 2, *[2 * 2**0.5] * 3, *[2 * 3**0.5] * 2])


def test_a_past_shorter_than_a_season_is_continued_with_its_last_value() -> None:
    past = np.array([[np.nan, 4.0, 9.0, np.nan]])
    assert seasonal_naive(past, 3, 24, np.array([np.nan])).mean.tolist() == [[9, 9, 9]]


def test_seasonal_errors_know_nothing_of_later_values() -> None:
    values = np.array([1.0, 5, 2, 9, np.nan, 3, 8])
    found = SeasonalErrors.of(values, 2)
    for step in range(8):
        apart = [
            abs(values[i] - values[i - 2])
            for i in range(2, step)
            if not np.isnan(values[i] - values[i - 2])
        ]
        expected = np.mean(apart) if apart else np.nan
        assert found.absolute[step] == pytest.approx(expected, nan_ok=True)
        square = np.mean(np.square(apart)) if apart else np.nan
        assert found.squared[step] == pytest.approx(square, nan_ok=True)


def test_errors_are_counted_by_the_hour_of_the_day() -> None:
    values, found, errors = some(2, 3)
    hours = np.array([[23, 0, 1], [0, 1, 2]])
    tally = Tally(3)
    tally.add(values, found, errors, hours)
    away = np.abs(values - found.median)
    assert tally.hours[0].tolist() == pytest.approx([away[0, 1] + away[1, 0], 2])
    assert tally.hours[23].tolist() == pytest.approx([away[0, 0], 1])
    assert tally.hours[5].tolist() == [0, 0]
