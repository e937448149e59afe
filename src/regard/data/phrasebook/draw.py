"""Random draws that are the same on every machine and under every Python version."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Seeded draws.

    Only `random()` is used: it is the only method of `random.Random` whose sequence Python promises
    to keep for a given seed.
    """

    __slots__ = ("_random",)

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def one(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return options[int(self._random() * len(options))]

    def chance(self, share: float) -> bool:
        """True in about this share of the calls."""
        return self._random() < share


def wheel(*weights: tuple[T, int]) -> tuple[T, ...]:
    """Options for `Draw.one` in which each option appears as often as its weight says."""
    return tuple(option for option, weight in weights for _ in range(weight))
