"""A map of words: their vectors, seen from the direction in which they differ most."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Projection:
    """From vectors to places on a map: the two principal components of some vectors."""

    centre: Floats  # [d]
    axes: Floats  # [d, 2]
    share: float  # of all variance

    @classmethod
    def of(cls, vectors: Floats) -> "Projection":
        """[N, d]; which side of an axis is right or up is settled, so that a map stays the same."""
        centre = vectors.mean(0)
        _, sizes, axes = np.linalg.svd(vectors - centre, full_matrices=False)
        first = np.zeros((2, vectors.shape[1]), np.float32)
        first[: min(2, len(axes))] = axes[:2]
        largest = np.abs(first).argmax(1)
        signs = np.sign(first[np.arange(2), largest])
        variance = float((sizes**2).sum())
        share = float((sizes[:2] ** 2).sum()) / variance if variance else 0.0
        return cls(centre, (first * np.where(signs == 0, 1, signs)[:, None]).T, share)

    def points(self, vectors: Floats) -> Floats:
        """[N, d] → [N, 2]"""
        return np.asarray((vectors - self.centre) @ self.axes, np.float32)
