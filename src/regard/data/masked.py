"""Windows of running text with some tokens hidden, for a masked language model.

The hidden tokens are drawn from PyTorch's generator, which training seeds for each batch with
(seed, update, batch). So they are a pure function of these numbers, as dropout is.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batches import Indices
from regard.data.stream import Stream
from regard.text.tokenizer import Specials, Tokenizer

# The shares of hidden tokens that become the mask and another token (Devlin et al., §3.1).
MASKED, REPLACED = 0.8, 0.1


@dataclass(frozen=True)
class MaskedBatch:
    """Texts with hidden tokens, the places of these, and which tokens they were."""

    tokens: Tensor  # [B, T]
    mask: Tensor  # [B, T], True at real tokens
    places: Tensor  # [B, K]
    labels: Tensor  # [B, K]
    segments: Tensor | None = None  # [B, T], 0 in the first sentence, 1 in the second
    follows: Tensor | None = None  # [B], 1 where the second does follow the first

    def to(self, device: torch.device) -> "MaskedBatch":
        if device.type == "cpu":
            return self

        def moved(part: Tensor | None) -> Tensor | None:
            return None if part is None else part.to(device, non_blocking=True)

        return MaskedBatch(
            self.tokens.to(device),
            self.mask.to(device),
            self.places.to(device),
            self.labels.to(device),
            moved(self.segments),
            moved(self.follows),
        )


@dataclass(frozen=True)
class Masking:
    """Which tokens are hidden, and what replaces them."""

    specials: Specials
    vocabulary: int
    share: float
    begins_word: NDArray[np.bool_] | None  # for each piece, if whole words are hidden

    @classmethod
    def of(cls, tokenizer: Tokenizer, share: float, whole_words: bool) -> "Masking":
        pieces = tokenizer.vocabulary if whole_words else []
        begins = np.array([tokenizer.begins_word(piece) for piece in pieces]) if pieces else None
        return cls(tokenizer.specials, len(tokenizer), share, begins)

    def count(self, length: int) -> int:
        """How many of `length` tokens are hidden. It is always the same number, so that every
        process knows how many there are in an update.
        """
        return max(1, round(self.share * length))

    def hide(self, tokens: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """[B, T] → the tokens with K = `count` of each row hidden, their places [B, K], and which
        tokens were there [B, K].
        """
        ids = torch.tensor([index for index in self.specials if index is not None])
        special = torch.isin(tokens, ids)
        # Special pieces come last in the order.
        order = (self.keys(tokens) + 2.0 * special).argsort(1)
        places = order[:, :count].sort(1).values
        labels = tokens.gather(1, places)
        chance = torch.rand(labels.shape)
        others = torch.randint(0, self.vocabulary, labels.shape)
        mask = self.specials.mask
        assert mask is not None  # checked where a masked language model is set up
        others = torch.where(torch.isin(others, ids), mask, others)
        shown = torch.where(
            chance < MASKED, mask, torch.where(chance < MASKED + REPLACED, others, labels)
        )
        return tokens.scatter(1, places, shown), places, labels

    def keys(self, tokens: Tensor) -> Tensor:
        """Numbers [B, T] in [0, 1); tokens are hidden in their order. If whole words are hidden,
        the pieces of a word have the same key; only the last hidden word may be cut.
        """
        drawn = torch.rand(tokens.shape)
        if self.begins_word is None:
            return drawn
        begins = torch.from_numpy(self.begins_word[tokens.numpy()])
        begins[:, 0] = True
        word = begins.cumsum(1) - 1
        return drawn.gather(1, word)


@dataclass(frozen=True)
class MaskedExamples:
    """Windows between a start and an end token; or pairs of windows with an end after each. The
    second window of a pair follows the first in half of the pairs; in the others it comes from
    anywhere.
    """

    stream: Stream
    content: int  # tokens of a window, without start and end
    masking: Masking
    in_pairs: bool = False

    def batch(self, rows: Indices) -> MaskedBatch:
        table = np.stack([self.stream.window(start, self.content) for start in rows])
        specials = self.masking.specials
        around = (
            torch.full((len(rows), 1), specials.start),
            torch.full((len(rows), 1), specials.end),
        )
        parts = [torch.from_numpy(table)]
        follows = None
        if self.in_pairs:
            first = self.content // 2
            parts, follows = self.with_second(parts[0], first)
        tokens = torch.cat((around[0], *(each for part in parts for each in (part, around[1]))), 1)
        segments = None
        if self.in_pairs:
            places = torch.arange(tokens.size(1))
            segments = (places > parts[0].size(1) + 1).long().expand_as(tokens)
        hidden, places, labels = self.masking.hide(tokens, self.masking.count(self.content))
        return MaskedBatch(
            hidden, torch.ones_like(tokens, dtype=torch.bool), places, labels, segments, follows
        )

    def with_second(self, tokens: Tensor, first: int) -> tuple[list[Tensor], Tensor]:
        """Both halves of each row, with the second replaced in about half of the rows; and whether
        it is the original, [B].
        """
        second = tokens[:, first:]
        starts = torch.randint(0, max(1, len(self.stream) - second.size(1)), (len(tokens),))
        others = np.stack([self.stream.window(start, second.size(1)) for start in starts.tolist()])
        follows = (torch.rand(len(tokens)) < 0.5).long()
        chosen = torch.where(follows[:, None] == 1, second, torch.from_numpy(others))
        return [tokens[:, :first], chosen], follows
