"""The simplest ways to the answers of some tasks, which the results of models stand beside.

Each gives its scores on the validation set, by the names of metrics.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.evaluate.scores import bleu

Ids = NDArray[Any]
# The most tokens that pairs are counted in, and the most images that means are taken of.
MOST_TOKENS, MOST_IMAGES, IMAGES_AT_ONCE = 5_000_000, 20_000, 1000


def counted_pairs(train: Ids, valid: Ids, vocabulary: int) -> dict[str, float]:
    """The perplexity of a text by how often each token followed each other one in training, mixed
    with how often it came at all (Witten & Bell 1991).
    """
    seen, read = train[:MOST_TOKENS].astype(np.int64), valid[:MOST_TOKENS].astype(np.int64)
    if len(seen) < 2 or len(read) < 2:
        return {}
    singles = np.bincount(seen, minlength=vocabulary)
    alone = (singles + 1) / (len(seen) + vocabulary)
    pairs, counts = np.unique(seen[:-1] * vocabulary + seen[1:], return_counts=True)
    before = np.bincount(seen[:-1], minlength=vocabulary)
    kinds = np.bincount(pairs // vocabulary, minlength=vocabulary)
    first, second = read[:-1], read[1:]
    asked = first * vocabulary + second
    places = np.searchsorted(pairs, asked).clip(max=len(pairs) - 1)
    together = np.where(pairs[places] == asked, counts[places], 0)
    known = np.maximum(1, before[first] + kinds[first])
    mixed = (together + kinds[first] * alone[second]) / known
    shares = np.where(before[first] > 0, mixed, alone[second])
    return {"counted_pairs": float(np.exp(-np.log(shares).mean()))}


def frequent_token(train: Ids, valid: Ids) -> dict[str, float]:
    """How many tokens are the most frequent one of training, in per cent."""
    if not len(train) or not len(valid):
        return {}
    token = np.bincount(train[:MOST_TOKENS].astype(np.int64)).argmax()
    return {"frequent_token": 100 * float((valid[:MOST_TOKENS] == token).mean())}


def nearest_mean(train: Any, valid: Any, labels: int) -> dict[str, float]:
    """The accuracy of the label whose mean image is the nearest one, and of the most frequent."""
    step = max(1, -(-len(train) // MOST_IMAGES))
    sums: NDArray[np.float64] | None = None
    counts = np.zeros(labels)
    for rows in parts(np.arange(0, len(train), step)):
        pixels, numbers = flat(train, rows), train.labels[rows]
        sums = np.zeros((labels, pixels.shape[1])) if sums is None else sums
        np.add.at(sums, numbers, pixels)
        counts += np.bincount(numbers, minlength=labels)
    if sums is None or not len(valid):
        return {}
    means = sums / np.maximum(1, counts)[:, None]
    lengths = np.where(counts > 0, (means**2).sum(1), np.inf)
    right = 0
    for rows in parts(np.arange(len(valid))):
        distances = lengths - 2 * flat(valid, rows) @ means.T
        right += int((distances.argmin(1) == valid.labels[rows]).sum())
    return {"nearest_mean": 100 * right / len(valid)}


def parts(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [rows[begin : begin + IMAGES_AT_ONCE] for begin in range(0, len(rows), IMAGES_AT_ONCE)]


def flat(images: Any, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Pixels, or what a frozen encoder has made of them, in a row for each image."""
    found: NDArray[np.float64] = images.images(rows).flatten(1).double().numpy()
    return found


def copied(sources: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """The BLEU of translations that are the sources themselves."""
    return {"copied_bleu": bleu(sources, references)} if sources else {}
