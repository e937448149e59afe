"""What every model of images begins and ends with.

Shapes: B images, C channels, H × W pixels, d d_model.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

IMAGES_AT_ONCE = 50


class Encoded(NamedTuple):
    """What an encoder makes of images."""

    grid: Tensor  # [B, rows * columns, d], row by row
    whole: Tensor  # [B, d]

    @classmethod
    def of_grid(cls, grid: Tensor) -> "Encoded":
        """Where the vector of the whole image is the mean of the grid."""
        return cls(grid, grid.mean(1))


class Standardise(nn.Module):
    """Pixels as numbers from 0 to 255 → numbers with mean 0 and variance 1 in each channel of the
    data. The statistics are saved with the weights.
    """

    def __init__(self, channels: int, mean: float = 127.5, std: float = 64.0) -> None:
        super().__init__()
        self.mean: Tensor
        self.std: Tensor
        self.register_buffer("mean", torch.full((channels,), mean))
        self.register_buffer("std", torch.full((channels,), std))

    @torch.no_grad()
    def initialise(self, images: Tensor) -> None:
        """Measure the statistics on images [N, C, H, W] of the data."""
        # A few images at a time: in double precision, all of them would take gigabytes.
        parts = images.split(IMAGES_AT_ONCE)
        count = images[:, 0].numel()
        mean = sum(each.double().sum((0, 2, 3)) for each in parts) / count
        distances = (each.double() - mean[:, None, None] for each in parts)
        variance = sum(each.square().sum((0, 2, 3)) for each in distances) / count
        self.mean.copy_(mean)
        # An empty channel stays empty.
        self.std.copy_(variance.sqrt().clamp(min=1.0))

    def forward(self, images: Tensor) -> Tensor:
        """uint8 or float [B, C, H, W] → float [B, C, H, W], channels last in memory."""
        values = images.to(self.mean.dtype).contiguous(memory_format=torch.channels_last)
        return (values - self.mean[:, None, None]) / self.std[:, None, None]


def as_grid(maps: Tensor) -> Tensor:
    """[B, d, rows, columns] → [B, rows * columns, d]"""
    return maps.flatten(2).transpose(1, 2)
