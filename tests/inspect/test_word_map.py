"""The map of words is what its formula says."""

import numpy as np
import pytest

from regard.inspect.word_map import Projection


def test_it_is_the_two_directions_of_most_variance() -> None:
    draw = np.random.default_rng(1)
    vectors = (draw.normal(size=(200, 5)) * [0.1, 3.0, 0.2, 1.0, 0.1]).astype(np.float32)
    found = Projection.of(vectors)
    points = found.points(vectors)
    assert np.allclose(points.mean(0), 0, atol=1e-4)
    assert np.abs(np.corrcoef(points[:, 0], vectors[:, 1])[0, 1]) > 0.99
    assert np.abs(np.corrcoef(points[:, 1], vectors[:, 3])[0, 1]) > 0.99
    variance = points.var(0).sum() / vectors.var(0).sum()
    assert found.share == pytest.approx(float(variance), abs=1e-4)


def test_turning_all_vectors_round_turns_the_map_no_further() -> None:
    vectors = np.random.default_rng(2).normal(size=(30, 4)).astype(np.float32)
    first, again = Projection.of(vectors), Projection.of(vectors[::-1].copy())
    assert np.allclose(first.points(vectors), again.points(vectors), atol=1e-4)


@pytest.mark.parametrize("count", [1, 2])
def test_a_few_words_have_a_map_as_well(count: int) -> None:
    vectors = np.random.default_rng(3).normal(size=(count, 4)).astype(np.float32)
    assert np.isfinite(Projection.of(vectors).points(vectors)).all()
