"""The simplest ways to answers, which results stand beside."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.evaluate.simple import copied, counted_pairs, frequent_token, nearest_mean


@dataclass(frozen=True)
class Images:
    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    def images(self, rows: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(self.pixels[rows])


def test_counts_of_pairs_know_what_follows_what() -> None:
    turns = np.tile([3, 4], 500)
    assert counted_pairs(turns, turns, 10)["counted_pairs"] < 1.05
    draw = np.random.default_rng(1)
    chance = draw.integers(0, 10, 20_000)
    found = counted_pairs(chance, draw.integers(0, 10, 5_000), 10)["counted_pairs"]
    assert found == pytest.approx(10, rel=0.02)
    # What was never met has a probability, too.
    assert np.isfinite(counted_pairs(turns, np.array([9, 8, 3, 9]), 10)["counted_pairs"])
    assert counted_pairs(turns[:1], turns, 10) == {}


def test_the_shares_of_what_may_follow_sum_to_one() -> None:
    draw = np.random.default_rng(2)
    train = draw.integers(0, 6, 200)
    for first in range(6):
        shares = [
            1 / counted_pairs(train, np.array([first, second]), 6)["counted_pairs"]
            for second in range(6)
        ]
        assert sum(shares) == pytest.approx(1)


def test_the_most_frequent_token() -> None:
    found = frequent_token(np.array([5, 5, 2]), np.array([5, 2, 2, 5]))
    assert found == {"frequent_token": 50.0}


def test_the_nearest_mean_tells_dark_images_from_light_ones() -> None:
    draw = np.random.default_rng(1)
    labels = draw.integers(0, 2, 60)
    pixels = (labels[:, None, None, None] * 120 + draw.integers(0, 60, (60, 1, 4, 4))).astype("u1")
    images = Images(pixels, labels)
    # A third label without images is never found.
    assert nearest_mean(images, images, 3) == {"nearest_mean": 100.0}


def test_a_copy_is_right_where_nothing_is_to_be_translated() -> None:
    assert copied(["one two three four"], ["one two three four"])["copied_bleu"] > 99
    assert copied([], []) == {}
