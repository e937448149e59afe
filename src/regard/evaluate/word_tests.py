"""How well word vectors agree with people: Spearman's ρ of rated pairs, and analogies."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
# Analogies that are answered together.
AT_ONCE = 256


def ranks(values: Floats) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = counts.cumsum()
    return np.asarray((last - (counts - 1) / 2)[places], np.float64)


def spearman(first: Floats, second: Floats) -> float:
    """Spearman's rank correlation; 0 where one of them does not vary."""
    a, b = ranks(first), ranks(second)
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b / max(1e-12, np.sqrt((a @ a) * (b @ b))))


def spearman_interval(first: Floats, second: Floats, resamples: int) -> tuple[float, float]:
    """The 95 % interval of ρ, by drawing the pairs again."""
    draw = np.random.default_rng(0)
    found = []
    for _ in range(resamples):
        rows = draw.integers(0, len(first), len(first))
        found.append(spearman(first[rows], second[rows]))
    low, high = np.percentile(found, (2.5, 97.5))
    return float(low), float(high)


def answers(units: NDArray[np.float32], questions: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """The word that each analogy's first three words lead to, none of these three."""
    rows = np.array(questions, np.int64).reshape(-1, 4)
    found = [np.empty(0, np.int64)]
    for start in range(0, len(rows), AT_ONCE):
        part = rows[start : start + AT_ONCE]
        wanted = units[part[:, 1]] - units[part[:, 0]] + units[part[:, 2]]
        similarity = wanted @ units.T
        np.put_along_axis(similarity, part[:, :3], -np.inf, axis=1)
        found.append(similarity.argmax(1))
    return np.concatenate(found)
