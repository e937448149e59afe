"""The keys and values of the tokens that a decoder has read, so that no token is read twice.

Shapes: B sentences, W rows per sentence in a search, R = B * W rows, h heads, d_k = d_model / h.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.layers.attention import SharedKeysValues

# Steps attend to a multiple of this many keys; see `SharedKeysValues`.
KEY_MULTIPLE = 16


@dataclass(frozen=True)
class KeyValueCache:
    """The cache of R rows: W hypotheses for each of B sentences; those of a sentence are adjacent.

    The rows of a sentence share its entries. Each step adds one entry per row, and `bias` hides
    from a row all entries but its own history. Rows of a sentence can therefore change places while
    keys and values stay where they are. Steps and selections write in place: use a cache only once.
    """

    entries: Tensor  # [layers, 2, B, h, capacity, d_k]: keys and values
    bias: Tensor  # [B, W, capacity]: 0 at a row's own history, elsewhere the lowest number
    length: int = 0  # entries so far
    position: int = 0  # tokens so far

    @classmethod
    def empty(
        cls, num_layers: int, sentences: int, heads: int, d_k: int, like: Tensor
    ) -> "KeyValueCache":
        """The cache before the first token: one row per sentence, in the type of `like`."""
        lowest = torch.finfo(like.dtype).min
        return cls(
            entries=like.new_zeros(num_layers, 2, sentences, heads, KEY_MULTIPLE, d_k),
            bias=like.new_full((sentences, 1, KEY_MULTIPLE), lowest),
        )

    def select(self, rows: Tensor) -> "KeyValueCache":
        """The cache of the rows that a search continues; row i of it continues `rows[i]`."""
        return self.reordered(rows, self.sentences(rows))

    def sentences(self, rows: Tensor) -> Tensor:
        """The sentences of these rows. If sentences have different numbers of rows left, each row
        becomes a sentence of its own.
        """
        width = self.bias.size(1)
        kept, counts = torch.unique_consecutive(rows // width, return_counts=True)
        return kept if bool((counts == counts[0]).all()) else rows // width

    def reordered(self, rows: Tensor, sentences: Tensor) -> "KeyValueCache":
        """Like `select`, for a caller that has already computed the sentences of the rows."""
        return replace(
            self,
            entries=reorder_sentences(self.entries, sentences),
            bias=self.bias.flatten(0, 1)[rows].view(len(sentences), -1, self.bias.size(2)),
        )

    def extended(self) -> "KeyValueCache":
        """The cache with room for one more token: a new entry per row, which only that row sees and
        which the layers have yet to write.
        """
        cache = self.with_room()
        length = cache.length + cache.bias.size(1)
        cache.bias[:, :, cache.length : length].diagonal(dim1=1, dim2=2).zero_()
        return replace(cache, length=length, position=cache.position + 1)

    def layers(self) -> Iterator[tuple[SharedKeysValues, Tensor]]:
        """For each layer: the keys and values that rows attend to, and the part of them that the
        layer has to write, [2, B, h, W, d_k].
        """
        seen = self.length + -self.length % KEY_MULTIPLE
        bias = repeat_for_heads(self.bias[:, :, :seen], self.entries.size(3))
        newest = self.entries[..., self.length - self.bias.size(1) : self.length, :]
        for (keys, values), new in zip(
            self.entries[..., :seen, :].flatten(2, 3), newest, strict=True
        ):
            yield SharedKeysValues(keys, values, bias, self.position - 1), new

    def with_room(self) -> "KeyValueCache":
        """Make room for one more entry per row: drop the entries that no row descends from if they
        are at least half of all, otherwise enlarge the store.
        """
        width, capacity = self.bias.shape[1:]
        if self.length + width <= capacity:
            return self
        used = (self.bias[:, :, : self.length] == 0).any(1)  # [B, length]
        most = int(used.sum(1).max())
        if 2 * most <= self.length and most + width <= capacity:
            order = used.byte().argsort(dim=1, descending=True, stable=True)
            return self.compacted(order[:, :most])
        more = max(capacity, KEY_MULTIPLE * width)
        lowest = torch.finfo(self.entries.dtype).min
        return replace(
            self,
            entries=F.pad(self.entries, (0, 0, 0, more)),
            bias=F.pad(self.bias, (0, more), value=lowest),
        )

    def compacted(self, entries: Tensor) -> "KeyValueCache":
        """Keep only these entries of each sentence, [B, length], moved to the front."""
        _, _, sentences, heads, capacity, _ = self.entries.shape
        length = entries.size(1)
        first = torch.arange(0, sentences * heads * capacity, capacity, device=entries.device)
        flat = first.view(sentences, heads, 1) + entries[:, None]
        kept = self.entries.flatten(2, 4).index_select(2, flat.flatten())
        self.entries[..., :length, :] = kept.view(*self.entries.shape[:4], length, -1)
        index = entries[:, None].expand(-1, self.bias.size(1), -1)
        lowest = torch.finfo(self.entries.dtype).min
        bias = F.pad(self.bias.gather(2, index), (0, capacity - length), value=lowest)
        return replace(self, bias=bias, length=length)


def reorder_sentences(stored: Tensor, sentences: Tensor) -> Tensor:
    """Put sentence `sentences[i]` at place i of [layers, 2, B, …], in place where that is possible.
    Only sentences that change place are copied.
    """
    count = len(sentences)
    if count > stored.size(2):
        return stored.index_select(2, sentences)
    places = torch.arange(count, device=sentences.device)
    moved = (sentences != places).nonzero()[:, 0]
    if len(moved):
        stored.index_copy_(2, moved, stored.index_select(2, sentences[moved]))
    return stored[:, :, :count]


def repeat_for_heads(bias: Tensor, heads: int) -> Tensor:
    """[B, W, K] → [B * h, W, K]"""
    return bias.repeat_interleave(heads, 0)
