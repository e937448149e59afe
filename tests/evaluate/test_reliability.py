"""How well chances agree with what came."""

from pathlib import Path

import numpy as np
import pytest

from regard.evaluate.regression import chances, regression
from regard.evaluate.reliability import Reliability, worst_found
from regard.inspect.reliability import save_reliability


def test_the_error_is_the_mean_distance_of_chance_and_share() -> None:
    found = Reliability.of(
        [0.95] * 10 + [0.25] * 30, [True] * 9 + [False] + [True] * 15 + [False] * 15
    )
    assert found.chances == pytest.approx([0.25, 0.95])
    assert found.shares == pytest.approx([0.5, 0.9])
    assert found.error == pytest.approx((30 * 0.25 + 10 * 0.05) / 40)


def test_a_chance_of_one_has_a_bin() -> None:
    assert Reliability.of([1.0, 0.0], [True, False]).error == 0


def test_the_worst_are_those_with_the_lowest_quality() -> None:
    quality = [*range(40)]
    assert worst_found(quality, quality) == 1
    assert worst_found([-each for each in quality], quality) == 0
    assert worst_found([0, 1, *range(39, 1, -1)], quality) == 0.5


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    found = Reliability.of([0.1, 0.9], [False, True])
    save_reliability(found, "confidence", "share of good ones", tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text().count("<path") > 10


def test_a_regression_finds_the_chances_that_labels_were_drawn_with() -> None:
    random = np.random.default_rng(1)
    rows = np.hstack([np.ones((20_000, 1)), random.standard_normal((20_000, 2))])
    weights = np.array([0.5, 1.5, -1.0])
    labels = (random.random(20_000) < chances(rows @ weights)).astype(float)
    assert regression(rows, labels) == pytest.approx(weights, abs=0.1)
