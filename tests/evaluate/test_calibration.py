"""What must hold of calibrated intervals."""

import json

import numpy as np
import pytest

from regard.evaluate.calibration import Calibration
from regard.evaluate.series import LEVELS, Floats, Forecasts, scores_of


def overconfident(
    windows: int, horizon: int = 6, factor: float = 0.4, seed: int = 0
) -> tuple[Floats, Forecasts]:
    """Values with a spread that grows with the step, and forecasts with too small a spread."""
    random = np.random.default_rng(seed)
    width = np.tile(1.0 + np.arange(horizon), (windows, 1))
    values = 50 + width * random.normal(size=(windows, horizon))
    mean = np.full((windows, horizon), 50.0)
    return values, Forecasts(mean, mean[..., None] + factor * width[..., None] * scores_of(LEVELS))


def covered(values: Floats, found: Forecasts, percent: float) -> Floats:
    low, high = found.interval(percent)
    return np.asarray(((values >= low) & (values <= high)).mean(0))


@pytest.mark.parametrize("factor", [0.3, 1.0, 4.0])
def test_intervals_hold_what_they_say_on_new_values(factor: float) -> None:
    calibration = Calibration.of(*overconfident(600, factor=factor))
    values, found = overconfident(4000, factor=factor, seed=1)
    for percent in (50, 80, 95):
        held = covered(values, calibration.apply(found), percent)
        assert held.mean() == pytest.approx(percent / 100, abs=0.02)
        assert abs(held - percent / 100).max() < 0.07


def test_few_windows_share_their_factors_over_the_steps() -> None:
    assert Calibration.of(*overconfident(50)).factors.shape[0] == 1
    assert Calibration.of(*overconfident(300)).factors.shape[0] == 6


def test_the_median_and_the_mean_stay_and_quantiles_never_cross() -> None:
    random = np.random.default_rng(2)
    calibration = Calibration(random.uniform(0.2, 3, (6, 12)))
    _, found = overconfident(5)
    applied = calibration.apply(found)
    np.testing.assert_array_equal(applied.median, found.median)
    np.testing.assert_array_equal(applied.mean, found.mean)
    assert (np.diff(applied.quantiles, axis=-1) >= 0).all()


def test_no_calibration_changes_nothing() -> None:
    _, found = overconfident(5)
    np.testing.assert_allclose(Calibration.none().apply(found).quantiles, found.quantiles)


def test_missing_values_and_forecasts_without_width_do_no_harm() -> None:
    values, found = overconfident(30)
    values[::2] = np.nan
    flat = Forecasts(found.mean, np.repeat(found.mean[..., None], len(LEVELS), -1))
    for each in (found, flat):
        factors = Calibration.of(values, each).factors
        assert np.isfinite(factors).all()
    assert np.isfinite(Calibration.of(np.full((30, 6), np.nan), found).factors).all()


def test_it_is_the_same_after_a_file() -> None:
    calibration = Calibration.of(*overconfident(300))
    again = Calibration.from_facts(json.loads(json.dumps(calibration.facts())))
    np.testing.assert_allclose(again.factors, calibration.factors, atol=1e-4)
    assert again.correlation == pytest.approx(calibration.correlation, abs=1e-4)
    for damaged in (
        None,
        {},
        {"factors": [[1.0]], "correlation": 0.0, "windows": 1},
        {"factors": 3},
    ):
        assert (
            Calibration.from_facts(damaged).factors.tolist() == Calibration.none().factors.tolist()
        )


def test_paths_have_the_quantiles_and_the_correlation() -> None:
    _, found = overconfident(2, factor=1.0)
    calibration = Calibration(np.full((1, 12), 1.5), correlation=0.8)
    paths = calibration.paths(found, 4000)
    assert paths.shape == (2, 4000, 6)
    low, high = calibration.apply(found).interval(80)
    inside = ((paths >= low[:, None]) & (paths <= high[:, None])).mean((0, 1))
    np.testing.assert_allclose(inside, 0.8, atol=0.02)
    together = np.corrcoef(paths[0, :, 2], paths[0, :, 3])[0, 1]
    assert together == pytest.approx(0.8, abs=0.03)
    np.testing.assert_array_equal(paths, calibration.paths(found, 4000))


def test_paths_of_a_model_keep_their_order_and_get_the_calibrated_width() -> None:
    _, found = overconfident(1, factor=1.0)
    drawn = found.quantiles[..., 3:-3].swapaxes(1, 2)
    calibration = Calibration(np.full((1, 12), 2.0))
    paths = calibration.paths(found._replace(paths=drawn), drawn.shape[1])
    np.testing.assert_allclose(paths - 50, 2 * (drawn - 50), atol=1e-9)


def test_correlation_is_that_of_errors() -> None:
    random = np.random.default_rng(0)
    noise = random.normal(size=(500, 8))
    for step in range(1, 8):
        noise[:, step] = 0.7 * noise[:, step - 1] + np.sqrt(1 - 0.49) * noise[:, step]
    mean = np.zeros((500, 8))
    found = Forecasts(mean, mean[..., None] + np.broadcast_to(scores_of(LEVELS), (500, 8, 25)))
    assert Calibration.of(noise, found).correlation == pytest.approx(0.7, abs=0.05)
