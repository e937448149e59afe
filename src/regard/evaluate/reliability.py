"""How well chances agree with what came: reliability, and whether the worst are found."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

BINS = 10


@dataclass(frozen=True)
class Reliability:
    """Chances in bins of equal width: the mean chance of each bin that has any, how often they came
    true, and how many there are.
    """

    chances: Floats
    shares: Floats
    counts: Floats

    @classmethod
    def of(cls, chances: Sequence[float], came: Sequence[bool]) -> "Reliability":
        given, true = np.asarray(chances, float), np.asarray(came, float)
        places = np.minimum((given * BINS).astype(int), BINS - 1)
        rows = [places == each for each in range(BINS) if (places == each).any()]
        return cls(
            np.array([given[each].mean() for each in rows]),
            np.array([true[each].mean() for each in rows]),
            np.array([float(each.sum()) for each in rows]),
        )

    @property
    def error(self) -> float:
        """The mean distance of chance and share: the expected calibration error."""
        distances = np.abs(self.chances - self.shares)
        return float((self.counts * distances).sum() / max(1.0, self.counts.sum()))


def worst_found(chances: Sequence[float], quality: Sequence[float]) -> float:
    """The share of the tenth of lowest quality that is in the tenth with the lowest chances."""
    count = math.ceil(len(chances) / 10)
    lowest, worst = (set(np.argsort(each, kind="stable")[:count]) for each in (chances, quality))
    return len(lowest & worst) / max(1, count)
