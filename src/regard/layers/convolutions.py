"""Convolutions of models that see images. Channels are last in memory, which oneDNN needs to be
fast.

Shapes: B images, C channels, H × W pixels.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from regard.layers.batch_norm import BatchNorm2d


class Conv2d(nn.Conv2d):
    """As nn.Conv2d, computed in the type of what it is given."""

    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return self._conv_forward(x, self.weight.to(x.dtype), bias)  # type: ignore[no-any-return]


class Convolution(nn.Module):
    """3 × 3 pixels, then batch normalisation and GELU."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.convolution = Conv2d(before, after, 3, padding=1, bias=False)
        self.norm = BatchNorm2d(after)
        nn.init.normal_(self.convolution.weight, std=(2 / (9 * before)) ** 0.5)

    def forward(self, x: Tensor, pool: bool = False) -> Tensor:
        """[B, before, H, W] → [B, after, H, W], or half as many rows and columns"""
        x = self.convolution(x)
        return F.gelu(self.norm(F.max_pool2d(x, 2) if pool else x))


class ResidualBlock(nn.Module):
    """[B, C, H, W] → [B, C, H, W]"""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = Convolution(width, width)
        self.second = Convolution(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(self.first(x))  # type: ignore[no-any-return]
