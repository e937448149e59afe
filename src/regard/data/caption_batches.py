"""Batches of images with a caption each. An image comes once for each of its captions.

Shapes: B captions, T tokens, C channels, H rows, W columns of pixels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batch import batch_sources
from regard.data.batches import Indices
from regard.text.tokenizer import START


class Images(Protocol):
    """Images as a model reads them: pixels [B, C, H, W], or what a frozen encoder made of them."""

    def plain(self, rows: Indices) -> Tensor:
        """Images as they are."""

    def drawn(self, rows: Indices) -> Tensor:
        """Images of a batch, changed at random where they are to be trained on."""


@dataclass(frozen=True)
class ImagePixels:
    """Some images of a cache."""

    pixels: NDArray[np.uint8]  # [N, H, W, C], all images of the cache
    rows: Indices  # those of this set
    change: Callable[[Tensor], Tensor] | None = None

    def plain(self, rows: Indices) -> Tensor:
        """[B, C, H, W], with the channels last in memory"""
        return torch.from_numpy(self.pixels[self.rows[rows]]).permute(0, 3, 1, 2)

    def drawn(self, rows: Indices) -> Tensor:
        return self.plain(rows) if self.change is None else self.change(self.plain(rows))


@dataclass(frozen=True)
class CaptionBatch:
    """`target` is what the decoder reads (START, y₁ …), `labels` what it predicts (y₁ … END)."""

    images: Tensor  # [B, …]
    target: Tensor  # [B, T]
    labels: Tensor  # [B, T], PAD where there is nothing to predict
    label_mask: Tensor  # [B, T], True where there is something to predict

    def to(self, device: torch.device) -> "CaptionBatch":
        if device.type == "cpu":
            return self
        return CaptionBatch(
            self.images.to(device, non_blocking=True),
            self.target.to(device, non_blocking=True),
            self.labels.to(device, non_blocking=True),
            self.label_mask.to(device, non_blocking=True),
        )


@dataclass(frozen=True)
class CaptionedImages:
    """Captions, each with its image."""

    images: Images
    owners: Indices  # the image of each caption
    ids: Sequence[Sequence[int]]  # of each caption, END included
    start: int = START

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> NDArray[np.int32]:
        return np.array([len(each) for each in self.ids], np.int32)

    def batch(self, rows: Indices) -> CaptionBatch:
        labels, mask = batch_sources([self.ids[row] for row in rows])
        target = torch.cat((torch.full_like(labels[:, :1], self.start), labels[:, :-1]), dim=1)
        return CaptionBatch(self.images.drawn(self.owners[rows]), target, labels, mask)
