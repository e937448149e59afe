"""The first layers of a Vision Transformer: from pixels to a vector for each patch.

Shapes: B images, C channels, H × W pixels, p patch_size, d d_model.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.layers.convolutions import Conv2d, ResidualBlock
from regard.layers.images import as_grid


class PatchStem(nn.Module):
    """One product a patch (Dosovitskiy et al. 2021, §3.1)."""

    def __init__(self, channels: int, patch_size: int, d_model: int) -> None:
        super().__init__()
        self.projection = Conv2d(channels, d_model, patch_size, stride=patch_size)
        # As large as the vectors of tokens in a text, whatever the size of a patch.
        nn.init.normal_(self.projection.weight, std=(channels * patch_size**2) ** -0.5)
        nn.init.zeros_(self.projection.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, H, W] → [B, H/p * W/p, d]"""
        return as_grid(self.projection(x))


class ConvolutionStem(nn.Module):
    """Convolutions that each halve the image (Hassani et al. 2021), until a position stands for a
    patch. Neighbouring patches share pixels, and small models learn much faster than from patches;
    faster still with residual blocks after each halving (Xiao et al. 2021).
    """

    def __init__(self, widths: Sequence[int], blocks: int = 0) -> None:
        super().__init__()
        self.convolutions: Sequence[nn.Conv2d] = nn.ModuleList(  # type: ignore[assignment]
            Conv2d(before, after, 3, padding=1, bias=False) for before, after in pairwise(widths)
        )
        for convolution in self.convolutions:
            fan_in = convolution.in_channels * 9
            nn.init.normal_(convolution.weight, std=(2 / fan_in) ** 0.5)
        self.blocks: Sequence[nn.Sequential] = nn.ModuleList(  # type: ignore[assignment]
            nn.Sequential(*(ResidualBlock(width) for _ in range(blocks))) for width in widths[1:]
        )

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, H, W] → [B, H/p * W/p, d]"""
        for convolution, blocks in zip(self.convolutions, self.blocks, strict=True):
            x = F.relu(F.max_pool2d(convolution(x), 2))
            x = blocks(x.contiguous(memory_format=torch.channels_last))
        return as_grid(x)
