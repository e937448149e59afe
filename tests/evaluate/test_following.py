"""What must hold of intervals that follow newer data."""

import numpy as np
import pytest

from regard.data.series_windows import LaidOut
from regard.evaluate.calibration import INTERVALS, SHARES
from regard.evaluate.following import Following, Turns
from regard.evaluate.series import LEVELS, Floats, scores_of


def ratios(spreads: Floats, horizon: int = 12, seed: int = 0) -> Floats:
    """How much wider intervals for a spread of 1 have to be for values of other spreads [B]."""
    random = np.random.default_rng(seed)
    away = np.abs(random.normal(size=(len(spreads), horizon))) * spreads[:, None]
    return np.asarray(away[..., None] / -scores_of(LEVELS)[:INTERVALS])


def held(found: Floats, widths: Floats) -> Floats:
    return np.asarray((found <= widths[:, None]).mean((0, 1)))


def of_one(count: int) -> tuple[np.ndarray, np.ndarray]:
    """The turns, and the series, of windows of one series."""
    return np.arange(count), np.zeros(count, np.int64)


@pytest.mark.parametrize("spread", [0.4, 1.0, 2.5])
def test_they_hold_what_they_say_after_the_data_has_changed(spread: float) -> None:
    found = ratios(np.full(300, spread))
    widths = Following(1, 12, 12).widths(*of_one(300), found)
    np.testing.assert_allclose(held(found, widths), SHARES, atol=0.03)
    if spread != 1:
        assert abs(held(found, np.ones_like(widths)) - SHARES).max() > 0.1


def test_each_series_follows_its_own_windows() -> None:
    turns, series = np.repeat(np.arange(100), 2), np.tile([0, 1], 100)
    found = ratios(np.where(series == 0, 0.5, 2.0))
    following = Following(2, 12, 12)
    widths = following.widths(turns, series, found)
    alone = Following(1, 12, 12).widths(*of_one(100), found[series == 1])
    np.testing.assert_array_equal(widths[series == 1], alone)
    narrow, wide = following.now()
    assert (narrow < 0.8).sum() >= 10
    assert (wide > 1.2).all()


@pytest.mark.parametrize("stride", [1, 5, 12, 20])
def test_a_window_knows_only_what_came_before_it(stride: int) -> None:
    found = ratios(np.full(60, 2.0))
    other = found.copy()
    changed = 30
    other[changed:] = 50.0
    first, second = (Following(1, 12, stride).widths(*of_one(60), each) for each in (found, other))
    # The future of the changed window is known when it has ended.
    known = changed + -(-12 // stride)
    np.testing.assert_array_equal(first[:known], second[:known])
    assert (first[known] != second[known]).any()


def test_windows_that_overlap_count_once() -> None:
    """As much time moves the widths as far, in whatever steps it is gone through."""
    moved = []
    for stride, seen in ((12, 10), (1, 120)):
        count = seen + 12 // stride
        far = np.full((count, 12, INTERVALS), 1e9)
        moved.append(Following(1, 12, stride).widths(*of_one(count), far)[-1])
    np.testing.assert_allclose(moved[0], moved[1])
    assert (moved[0] > 1).all()


def test_parts_are_the_whole() -> None:
    found = ratios(np.full(50, 2.0))
    turns, series = of_one(50)
    whole = Following(1, 12, 4).widths(turns, series, found)
    following = Following(1, 12, 4)
    parts = [
        following.widths(turns[part], series[part], found[part])
        for part in (slice(0, 7), slice(7, 8), slice(8, 50))
    ]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_missing_values_say_nothing() -> None:
    found = np.full((20, 12, INTERVALS), np.nan)
    following = Following(1, 12, 12)
    assert (following.widths(*of_one(20), found) == 1).all()
    assert (following.now() == 1).all()
    half = ratios(np.full(20, 2.0))
    half[:, ::2] = np.nan
    np.testing.assert_array_equal(
        Following(1, 6, 12).widths(*of_one(20), half[:, 1::2]),
        Following(1, 12, 12).widths(*of_one(20), half),
    )


def test_windows_come_in_the_order_of_time_and_end_with_the_series() -> None:
    series = [(np.arange(float(length)), np.zeros((length, 0))) for length in (40, 60)]
    laid = LaidOut.of(series, 8, 4)
    newer = np.array([40, 46])
    found = Turns.of(laid, "last", newer, stride=4, count=2, more=3)
    assert found.turns.tolist() == [-2, -1, -1, 0, 0]
    assert found.windows.places.tolist() == [[1, 48], [0, 32], [1, 52], [0, 36], [1, 56]]
    assert found.newer.tolist() == [True, False, True, False, True]
    # Of windows before those that are asked for, only newer ones are added.
    found = Turns.of(laid, "last", newer - 10, stride=4, count=2, more=3)
    assert found.windows.places[found.windows.places[:, 0] == 1, 1].tolist() == [40, 44, 48, 52, 56]
    assert found.windows.places[found.windows.places[:, 0] == 0, 1].tolist() == [32, 36]
    assert len(Turns.of(laid, "last", laid.lengths, stride=4, count=0, more=5).turns) == 0
