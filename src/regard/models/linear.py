"""A linear model of texts: each n-gram that occurs in a text adds its weights to the labels. The
rarer an n-gram, the more it counts, and a text counts as much as another however long it is.

Shapes: B texts, N n-grams that the model knows, L labels.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from regard.configs.linear import LinearConfig
from regard.text.ngrams import Integers, ngram_sets, occurrences

TEXTS_AT_ONCE = 2000


class Evidence(NamedTuple):
    """An n-gram of a text: how it is written, where it occurs, what it adds to the logits, [L]."""

    ngram: str
    places: tuple[tuple[int, int], ...]
    logits: Tensor


class Linear(nn.Module):
    keys: Tensor
    rarity: Tensor

    def __init__(self, config: LinearConfig, ngrams: int, labels: int) -> None:
        super().__init__()
        self.config = config
        # The keys of the n-grams in ascending order.
        self.register_buffer("keys", torch.zeros(ngrams, dtype=torch.int64))
        # The logarithm of how many texts there are for each that has the n-gram, and 1 more. The
        # weights have it as a factor.
        self.register_buffer("rarity", torch.ones(ngrams))
        self.weight = nn.Parameter(torch.zeros(ngrams, labels))
        self.bias = nn.Parameter(torch.zeros(labels))

    def forward(self, texts: Sequence[str]) -> Tensor:
        """Logits [B, L]"""
        parts = [
            self._logits(texts[begin : begin + TEXTS_AT_ONCE])
            for begin in range(0, len(texts), TEXTS_AT_ONCE)
        ]
        return torch.cat([torch.zeros(0, len(self.bias)), *parts])

    def _logits(self, texts: Sequence[str]) -> Tensor:
        owners, keys = ngram_sets(texts, self.config.words, self.config.characters)
        places = self.places(keys)
        known = places >= 0
        starts = torch.from_numpy(np.searchsorted(owners[known], np.arange(len(texts))))
        found = torch.from_numpy(places[known])
        sums = embedding_bag(found, self.weight, starts, mode="sum")
        return sums / lengths(self.rarity, found, starts) + self.bias

    def places(self, keys: Integers) -> Integers:
        """The rows of these n-grams in the weights; -1 for n-grams that the model does not know."""
        own = self.keys.numpy()
        if not len(own):
            return np.full(len(keys), -1)
        found = np.searchsorted(own, keys).clip(max=len(own) - 1)
        return np.where(own[found] == keys, found, -1)

    def evidence(self, text: str) -> list[Evidence]:
        """What each n-gram of a text that the model knows adds to the logits."""
        spans: dict[int, list[tuple[int, int]]] = {}
        for key, begin, end in occurrences(text, self.config.words, self.config.characters):
            spans.setdefault(key, []).append((begin, end))
        rows = torch.from_numpy(self.places(np.fromiter(spans, np.int64, len(spans))))
        length = lengths(self.rarity, rows[rows >= 0], torch.zeros(1, dtype=torch.int64))
        return [
            Evidence(text[slice(*places[0])], tuple(places), self.weight[row].detach() / length[0])
            for row, places in zip(rows.tolist(), spans.values(), strict=True)
            if row >= 0
        ]


def lengths(rarity: Tensor, ngrams: Tensor, starts: Tensor) -> Tensor:
    """The lengths of texts as vectors of their n-grams' rarities, [B, 1]; 1 for an empty one."""
    squares = embedding_bag(ngrams, rarity.square()[:, None], starts, mode="sum")
    return squares.sqrt().where(squares > 0, 1.0)
