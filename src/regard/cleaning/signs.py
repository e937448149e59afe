"""Signs in numbers of whether two texts translate each other, by a learned dictionary.

For each word, the likeliest of the words on the other side; for each pair, how well its words are
explained on average, how many are, and how long the longest stretch is that nothing explains, which
shows what was cut off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from regard.data.dictionary import Dictionary, Links, Table, Text, words_of

Floats = npt.NDArray[np.float64]

# A word is explained if another makes it this likely.
EXPLAINED = 0.1
FLOOR = 1e-4
NAMES = ("likelihood", "explained", "stretch", "tail")
COUNT = 2 * len(NAMES) + 3


def signs_of(pairs: Sequence[tuple[str, str]], dictionary: Dictionary) -> Floats:
    """A row of numbers for each pair."""
    texts = [(words_of(source), words_of(target)) for source, target in pairs]
    turned = [(target, source) for source, target in texts]
    lengths = np.array(
        [math.log((len(target) + 3) / (len(source) + 3)) for source, target in pairs]
    ).reshape(-1, 1)
    sizes = np.array([[len(s), len(t)] for s, t in texts], np.float64).reshape(-1, 2)
    return np.hstack(
        [
            one_way(texts, dictionary.forward),
            one_way(turned, dictionary.backward),
            lengths,
            np.log1p(sizes),
        ]
    )


def one_way(texts: Sequence[tuple[Text, Text]], table: Table) -> Floats:
    """How well the words of the second side follow from those of the first."""
    links = Links.of(texts, table.given, table.words, known_only=False)
    found = np.zeros((len(texts), len(NAMES)))
    if not len(links.sizes):
        return found
    likely = table.likely(links)
    best = np.maximum.reduceat(likely, links.starts)
    means = np.add.reduceat(likely, links.starts) / links.sizes
    words = links.words[links.starts]
    usual = np.where(words >= 0, table.chances[np.maximum(words, 0)], FLOOR)
    ratios = np.log(np.maximum(means, FLOOR) / np.maximum(usual, FLOOR))
    explained = (best >= EXPLAINED).astype(np.float64)
    ends = np.cumsum(links.counts)
    for row, (begin, end) in enumerate(zip(ends - links.counts, ends, strict=True)):
        if end > begin:
            yes = explained[begin:end]
            found[row] = (ratios[begin:end].mean(), yes.mean(), *stretches(yes))
    return found


def stretches(explained: Floats) -> tuple[float, float]:
    """The longest run of words that nothing explains, and the run at the end, as square roots."""
    at = np.flatnonzero(explained)
    edges = np.concatenate(([-1], at, [len(explained)]))
    gaps = np.diff(edges) - 1
    return math.sqrt(gaps.max()), math.sqrt(gaps[-1])
