"""What a decoder keeps of the tokens it has read: keys and values, so that none is read twice.

Shapes: B sentences, W rows of each in a search, R = B * W rows, h heads, d_k = d_model / h.
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
    """R rows: the hypotheses of B sentences, adjacent, W each.

    The rows of a sentence share its entries, to which each step adds one a row, and `bias` keeps a
    row from seeing what is not its own past. So rows of a sentence change places without their keys
    and values. Steps and selections write in place: a past is used once.
    """

    entries: Tensor  # [layers, 2, B, h, capacity, d_k]: keys and values
    bias: Tensor  # [B, W, capacity]: 0 at a row's own past, else the lowest number
    length: int = 0  # entries so far
    position: int = 0  # tokens so far

    @classmethod
    def empty(
        cls, num_layers: int, sentences: int, heads: int, d_k: int, like: Tensor
    ) -> "KeyValueCache":
        """Before the first token, one row a sentence, in the type of `like`."""
        lowest = torch.finfo(like.dtype).min
        return cls(
            entries=like.new_zeros(num_layers, 2, sentences, heads, KEY_MULTIPLE, d_k),
            bias=like.new_full((sentences, 1, KEY_MULTIPLE), lowest),
        )

    def select(self, rows: Tensor) -> "KeyValueCache":
        """The rows of a new search front, each continuing an old row."""
        return self.reordered(rows, self.sentences(rows))

    def sentences(self, rows: Tensor) -> Tensor:
        """The sentences of these rows; where unlike numbers of rows are left, one for each row."""
        width = self.bias.size(1)
        kept, counts = torch.unique_consecutive(rows // width, return_counts=True)
        return kept if bool((counts == counts[0]).all()) else rows // width

    def reordered(self, rows: Tensor, sentences: Tensor) -> "KeyValueCache":
        """What `select` gives, for who needs the sentences of the rows too."""
        return replace(
            self,
            entries=reorder_sentences(self.entries, sentences),
            bias=self.bias.flatten(0, 1)[rows].view(len(sentences), -1, self.bias.size(2)),
        )

    def extended(self) -> "KeyValueCache":
        """One more token: an entry for each row, yet to be written, that only its row sees."""
        cache = self.with_room()
        length = cache.length + cache.bias.size(1)
        cache.bias[:, :, cache.length : length].diagonal(dim1=1, dim2=2).zero_()
        return replace(cache, length=length, position=cache.position + 1)

    def layers(self) -> Iterator[tuple[SharedKeysValues, Tensor]]:
        """For each layer what its rows attend to, and the newest entries in it, to be written:
        [2, B, h, W, d_k].
        """
        seen = self.length + -self.length % KEY_MULTIPLE
        bias = repeat_for_heads(self.bias[:, :, :seen], self.entries.size(3))
        newest = self.entries[..., self.length - self.bias.size(1) : self.length, :]
        for (keys, values), new in zip(
            self.entries[..., :seen, :].flatten(2, 3), newest, strict=True
        ):
            yield SharedKeysValues(keys, values, bias, self.position - 1), new

    def with_room(self) -> "KeyValueCache":
        """Room for one more entry a row: without the entries that no row descends from, if these
        are half of all, or else in a larger store.
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
        """Only these entries of each sentence, [B, length]."""
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
    """[layers, 2, B, …] with sentence `sentences[i]` at place i; what is at its place stays."""
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
