"""How likely a pair is to be noise: learned from the pairs themselves.

Pairs of the corpus are told apart from pairs that are made wrong on purpose: with the target of
another pair of similar length, or with one side cut. A dictionary never judges pairs that it was
learned from. How much of the corpus is noise is estimated, too (Saerens et al. 2002), so that a
clean corpus loses next to nothing.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regard.cleaning.signs import COUNT, signs_of
from regard.data.dictionary import Dictionary
from regard.evaluate.regression import regression

Floats = npt.NDArray[np.float64]
Texts = Sequence[tuple[str, str]]

# With fewer pairs, no dictionary can be learned that says enough.
LEAST_PAIRS = 1000
MOST_PAIRS = 40_000
ROUNDS = 3
MOST_NOISE, LEAST_NOISE = 0.6, 1e-4
# A pair is called noise from this chance on.
NOISE = 0.9
KEPT_SHARES = (0.15, 0.75)  # of a side that is cut


@dataclass(frozen=True)
class Fit:
    """Weights of the signs, and how much of the corpus seems to be noise."""

    dictionaries: tuple[Dictionary, Dictionary]
    means: Floats
    spreads: Floats
    weights: Floats
    noise: float

    @classmethod
    def learned(cls, pairs: Texts, seed: int = 1) -> Fit | None:
        """From pairs that nothing else is wrong with; None of too few."""
        if len(pairs) < LEAST_PAIRS:
            return None
        halves = [[pair for pair in pairs if half_of(pair) == half] for half in (0, 1)]
        dictionaries = Dictionary.learned(halves[0]), Dictionary.learned(halves[1])
        wrong = [made_wrong(half, random.Random(seed)) for half in halves]
        good, bad = (
            np.vstack([signs_of(half, dictionaries[1 - i]) for i, half in enumerate(each)])
            for each in (halves, wrong)
        )
        means, spreads = good.mean(0), np.maximum(good.std(0), 1e-6)
        good, bad = ((each - means) / spreads for each in (good, bad))
        kept = np.ones(len(good), bool)
        for _ in range(ROUNDS):
            weights = logistic(good[kept], bad)
            kept = design(good) @ weights > 0
        ratios = design(good) @ weights + np.log(len(bad) / max(1, kept.sum()))
        return cls(dictionaries, means, spreads, weights, share_of_noise(ratios))

    def chances(self, pairs: Texts) -> Floats:
        """The chance of each pair to be noise."""
        found = np.zeros((len(pairs), COUNT))
        for half in (0, 1):
            rows = [i for i, pair in enumerate(pairs) if half_of(pair) == half]
            if rows:
                found[rows] = signs_of([pairs[i] for i in rows], self.dictionaries[1 - half])
        ratios = design((found - self.means) / self.spreads) @ self.weights
        return noise_chance(ratios, self.noise)


def half_of(pair: tuple[str, str]) -> int:
    """Which dictionary learns from a pair: 0 or 1, the same whenever it occurs."""
    return zlib.crc32(f"{pair[0]}\t{pair[1]}".encode("utf-8", "replace")) & 1


def made_wrong(pairs: Texts, chance: random.Random) -> list[tuple[str, str]]:
    """As many pairs that are wrong: half with another target, a quarter with either side cut."""
    order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i][1]), chance.random()))
    other = {row: order[(n + chance.randint(3, 40)) % len(order)] for n, row in enumerate(order)}
    found = []
    for row, (source, target) in enumerate(pairs):
        kind = chance.random()
        if kind < 0.5:
            found.append((source, pairs[other[row]][1]))
        elif kind < 0.75:
            found.append((source, cut(target, chance)))
        else:
            found.append((cut(source, chance), target))
    return found


def cut(text: str, chance: random.Random) -> str:
    """The beginning of a text, a word at least shorter if it has several."""
    words = text.split()
    share = chance.uniform(*KEPT_SHARES)
    if len(words) < 3:
        return text[: max(1, round(share * len(text)))]
    return " ".join(words[: max(1, min(len(words) - 2, round(share * len(words))))])


def design(rows: Floats) -> Floats:
    """A constant, the signs, how far they are from the usual, and their products with the length.
    Squares would turn round where a pair is odder than all that were made wrong.
    """
    clipped = np.clip(rows, -6, 6)
    length = np.clip(rows[:, -1:], -2, 2)
    return np.hstack([np.ones((len(rows), 1)), clipped, np.abs(clipped), clipped[:, :-2] * length])


def logistic(good: Floats, bad: Floats) -> Floats:
    """Logistic regression; positive for good pairs."""
    labels = np.concatenate([np.ones(len(good)), np.zeros(len(bad))])
    return regression(design(np.vstack([good, bad])), labels)


def share_of_noise(ratios: Floats) -> float:
    """The share of noise that makes the corpus likeliest, by expectation maximisation."""
    share = 0.1
    for _ in range(100):
        share = float(np.clip(noise_chance(ratios, share).mean(), LEAST_NOISE, MOST_NOISE))
    return share


def noise_chance(ratios: Floats, share: float) -> Floats:
    """By Bayes, from the log-likelihood ratio of good against noise."""
    odds = np.clip(ratios, -30, 30) + np.log((1 - share) / share)
    result: Floats = 1 / (1 + np.exp(odds))
    return result
