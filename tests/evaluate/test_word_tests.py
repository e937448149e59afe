"""Scores of word vectors."""

import numpy as np
import pytest

from regard.evaluate.word_tests import answers, ranks, spearman, spearman_interval


def test_equal_values_share_a_rank() -> None:
    assert ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]


def test_only_the_order_counts() -> None:
    values = np.array([1.0, 2.0, 5.0, 9.0])
    assert spearman(values, np.exp(values)) == pytest.approx(1.0)
    assert spearman(values, -(values**3)) == pytest.approx(-1.0)
    assert spearman(values, np.ones(4)) == 0.0


def test_it_is_scipys() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    draw = np.random.default_rng(1)
    first, second = draw.integers(0, 9, 50) * 1.0, draw.normal(size=50)
    assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)


def test_the_interval_holds_the_value_and_narrows() -> None:
    draw = np.random.default_rng(1)
    wide = []
    for size in (40, 4000):
        first = draw.normal(size=size)
        second = first + draw.normal(size=size)
        low, high = spearman_interval(first, second, 200)
        assert low < spearman(first, second) < high
        wide.append(high - low)
    assert wide[1] < wide[0] / 4


def test_an_analogy_is_answered_with_another_word() -> None:
    # man, king, woman, queen, and a word beside king
    vectors = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1.1, 0]], np.float32)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert answers(units, [[0, 1, 2, 3], [0, 1, 0, 1]]).tolist() == [3, 4]
    assert answers(units, []).tolist() == []
