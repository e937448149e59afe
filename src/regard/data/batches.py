"""Which sentences share a batch: lengths alike on both sides, a budget of tokens, and an order that
is a pure function of (seed, epoch), so any step of any epoch can be reached without replay.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Lengths = NDArray[np.int32]
Indices = NDArray[np.int64]


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
        # By the longer side, then by the difference: there and back again, so that where the longer
        # side grows by one the neighbours are still alike. The jitter changes who sits beside whom.
        # In place, since a corpus has millions of pairs.
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
        """The share of an epoch's table cells that hold padding."""
        cells = sum(
            len(batch) * int(self.source_lengths[batch].max() + self.target_lengths[batch].max())
            for batch in self.epoch(epoch)
        )
        tokens = int(
            self.source_lengths.sum(dtype=np.int64) + self.target_lengths.sum(dtype=np.int64)
        )
        return 1 - tokens / cells


def cut(order: Indices, source: Lengths, target: Lengths, batch_tokens: int) -> list[Indices]:
    """Cut an order into runs whose rows × longest side keep to the budget; one row always fits."""
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
