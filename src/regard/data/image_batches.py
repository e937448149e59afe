"""Batches of labelled images from a cache, changed at random for training.

Shapes: B images of a batch, C channels, H rows, W columns of pixels, L labels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batches import Indices
from regard.data.image_features import ImageFeatures


class ImageBatch(NamedTuple):
    images: Tensor  # [B, C, H, W], 0 … 255
    labels: Tensor  # [B], or the probability of each label, [B, L]

    def to(self, device: torch.device) -> "ImageBatch":
        return ImageBatch(self.images.to(device), self.labels.to(device))


# Changes images, and labels where images are mixed.
Change = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class LabelledImages:
    """Some images of a cache, and their labels."""

    pixels: NDArray[np.uint8]  # [N, H, W, C], all images of the cache
    rows: Indices  # those of this set
    labels: Indices  # their labels
    names: Sequence[str]  # their files
    change: Change | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def images(self, rows: Indices) -> Tensor:
        """[B, C, H, W], with the channels last in memory, which convolutions read fastest."""
        found = torch.from_numpy(self.pixels[self.rows[rows]])
        return found.permute(0, 3, 1, 2)

    def batch(self, rows: Indices) -> ImageBatch:
        images, labels = self.images(rows), torch.from_numpy(self.labels[rows])
        if self.change is not None:
            images, labels = self.change(images, labels)
        return ImageBatch(images, labels)


@dataclass(frozen=True)
class LabelledFeatures:
    """What a frozen encoder has made of images, and their labels."""

    features: ImageFeatures
    labels: Indices
    names: Sequence[str]  # their files

    def __len__(self) -> int:
        return len(self.labels)

    def images(self, rows: Indices) -> Tensor:
        """[B, d]"""
        return self.features.plain(rows)

    def batch(self, rows: Indices) -> ImageBatch:
        return ImageBatch(self.features.drawn(rows), torch.from_numpy(self.labels[rows]))
