"""Batches of sentences with similar lengths on both sides, within a budget of tokens. Their order
is a pure function of (seed, epoch), so any step of any epoch can be reached without replay.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Lengths = NDArray[np.int32]
Indices = NDArray[np.int64]


class Amounts(NamedTuple):
    """The work of an epoch: how many tokens are only read (source) and predicted (target), and the
    mean length of the sequence that a token of each kind is in.
    """

    source_tokens: float
    target_tokens: float
    source_length: float
    target_length: float


class Order(Protocol):
    """Which examples share a batch, in which order, and how large they are."""

    def epoch(self, epoch: int) -> list[Indices]: ...
    def padding(self) -> float: ...
    def cells(self, rows: Indices) -> int: ...
    def lengths(self, rows: Indices) -> Indices: ...
    def tokens(self, rows: Indices) -> int: ...
    def labels(self, rows: Indices) -> int: ...
    def amounts(self) -> Amounts: ...


@dataclass
class Batches:
    """`batch_tokens` bounds rows × longest sentence on each side of a batch, padding included."""

    source_lengths: Lengths
    target_lengths: Lengths
    batch_tokens: int
    seed: int
    _epoch: tuple[int, list[Indices]] | None = field(default=None, repr=False)

    def epoch(self, epoch: int) -> list[Indices]:
        """The batches of an epoch in their order, as indices of pairs."""
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = (epoch, self._plan(epoch))
        return self._epoch[1]

    def _plan(self, epoch: int) -> list[Indices]:
        random = np.random.Generator(np.random.Philox(key=[self.seed, epoch]))
        longest = np.maximum(self.source_lengths, self.target_lengths)
        # Sort by the longer side, then by the difference of the sides, rising and falling in turn:
        # where the longer side grows by one, neighbours are still similar. The jitter shuffles
        # pairs of equal lengths. All in place, since a corpus has millions of pairs.
        difference = random.random(len(longest), dtype=np.float32).astype(np.float64)
        difference *= 2
        difference += self.source_lengths
        difference -= self.target_lengths
        np.negative(difference, out=difference, where=longest % 2 == 1)
        order = np.lexsort((difference, longest))
        del longest, difference
        batches = cut(order, self.source_lengths, self.target_lengths, self.batch_tokens)
        random.shuffle(batches)
        return batches

    def padding(self, epoch: int = 0) -> float:
        """The share of padding among the cells of an epoch's batches."""
        batches = self.epoch(epoch)
        return 1 - sum(map(self.tokens, batches)) / sum(map(self.cells, batches))

    def cells(self, rows: Indices) -> int:
        """The number of cells in a batch's tables, padding included."""
        return len(rows) * int(self.source_lengths[rows].max() + self.target_lengths[rows].max())

    def lengths(self, rows: Indices) -> Indices:
        """The number of tokens in each row, both sides together."""
        return self.source_lengths[rows].astype(np.int64) + self.target_lengths[rows]

    def tokens(self, rows: Indices) -> int:
        return int(self.lengths(rows).sum())

    def labels(self, rows: Indices) -> int:
        """How many tokens there are to predict."""
        return int(self.target_lengths[rows].sum(dtype=np.int64))

    def amounts(self) -> Amounts:
        """Lengths are means over tokens, so long sentences count more."""
        source, target = (
            lengths.astype(np.float64) for lengths in (self.source_lengths, self.target_lengths)
        )
        return Amounts(
            source.sum(),
            target.sum(),
            (source**2).sum() / source.sum(),
            (target**2).sum() / target.sum(),
        )


def cut(order: Indices, source: Lengths, target: Lengths, batch_tokens: int) -> list[Indices]:
    """Cut an order into batches with rows × longest side within the budget; one row always fits."""
    longest = np.maximum(source[order], target[order])
    batches = []
    start = 0
    while start < len(order):
        room = max(1, batch_tokens // int(longest[start]))
        window = np.maximum.accumulate(longest[start : start + room], dtype=np.int64)
        cost = window * np.arange(1, len(window) + 1)
        rows = max(1, int(np.searchsorted(cost, batch_tokens, side="right")))
        batches.append(order[start : start + rows])
        start += rows
    return batches


@dataclass
class EqualBatches:
    """Batches of examples that are all of one size, such as pictures or rows of a table. An example
    counts as one token, read and predicted. `length` is the mean of the texts in them, if any.
    """

    examples: int
    batch_size: int
    seed: int
    length: float = 1.0

    def epoch(self, epoch: int) -> list[Indices]:
        random = np.random.Generator(np.random.Philox(key=[self.seed, epoch]))
        order = random.permutation(self.examples)
        return [
            order[start : start + self.batch_size]
            for start in range(0, self.examples, self.batch_size)
        ]

    def padding(self) -> float:
        return 0.0

    def cells(self, rows: Indices) -> int:
        return len(rows)

    def lengths(self, rows: Indices) -> Indices:
        return np.ones(len(rows), np.int64)

    def tokens(self, rows: Indices) -> int:
        return len(rows)

    def labels(self, rows: Indices) -> int:
        return len(rows)

    def amounts(self) -> Amounts:
        tokens = self.examples * self.length
        return Amounts(tokens, tokens, self.length, self.length)
