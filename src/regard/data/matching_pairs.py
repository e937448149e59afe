"""Pairs of an image and a caption of it, in batches whose rows are compared with each other.

Shapes: B pairs of a batch, T tokens, C channels, H × W pixels, d width of an encoder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import pad
from regard.data.batches import Indices
from regard.data.caption_batches import Images
from regard.text.tokenizer import Specials


class MatchingBatch(NamedTuple):
    images: Tensor  # [B, C, H, W], or what an encoder has made of them, [B, d]
    tokens: Tensor  # [B, T]
    mask: Tensor  # [B, T], True at real tokens
    numbers: Tensor  # [B, 2], the image and the text of each pair

    def to(self, device: torch.device) -> "MatchingBatch":
        return MatchingBatch(*(each.to(device) for each in self))


def batch_texts(rows: Sequence[Sequence[int]], specials: Specials) -> tuple[Tensor, Tensor]:
    """Tokens [B, T] and their mask; every text is between a start and an end token."""
    tokens = pad([[specials.start, *row, specials.end] for row in rows], specials.pad)
    lengths = torch.tensor([len(row) + 2 for row in rows])
    return tokens, torch.arange(tokens.size(1)) < lengths[:, None]


@dataclass(frozen=True)
class MatchingPairs:
    """Captions and their images; a row is a caption."""

    images: Images
    owners: Indices  # the image of each caption
    texts: Sequence[str]
    ids: Sequence[Sequence[int]]
    specials: Specials

    def __len__(self) -> int:
        return len(self.texts)

    def mean_length(self) -> float:
        """Of the captions, with the tokens around each."""
        return float(np.mean([len(each) + 2 for each in self.ids]))

    @cached_property
    def text_numbers(self) -> Indices:
        """A number for each caption, which is the same for the same words."""
        known: dict[str, int] = {}
        return np.array([known.setdefault(text, len(known)) for text in self.texts], np.int64)

    def numbers(self, rows: Indices) -> Tensor:
        """The image and the text of each pair, [B, 2]"""
        return torch.from_numpy(np.stack((self.owners[rows], self.text_numbers[rows]), -1))

    def tokens(self, rows: Indices) -> tuple[Tensor, Tensor]:
        return batch_texts([self.ids[row] for row in rows], self.specials)

    def batch(self, rows: Indices) -> MatchingBatch:
        images = self.images.drawn(self.owners[rows])
        return MatchingBatch(images, *self.tokens(rows), self.numbers(rows))
