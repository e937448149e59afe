"""A residual convolutional network that learns fast on CPUs.

The first convolution makes its inputs uncorrelated and is computed from the data, not learned, as
in Jordan (2024). Pooling comes before normalisation, so that most of the work that is not products
is done on a quarter of the numbers.

Shapes: B images, C channels, H × W pixels, d the width of the last stage. Channels are last in
memory, which oneDNN needs to be fast.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.configs.cnn import CnnConfig
from regard.configs.image import ImageShape
from regard.layers.convolutions import Conv2d, Convolution, ResidualBlock
from regard.layers.images import Encoded, Standardise, as_grid
from regard.layers.precision import lowered

# Directions in which images hardly vary are not stretched beyond what this allows.
LEAST_VARIANCE = 5e-4
IMAGES_AT_ONCE = 50


class Cnn(nn.Module):
    def __init__(self, config: CnnConfig, shape: ImageShape) -> None:
        super().__init__()
        self.config = config
        self.d_model = config.d_model
        self.standardise = Standardise(shape.channels)
        self.whiten = Whiten(shape.channels)
        self.grid = (shape.height - 1, shape.width - 1)
        for _ in config.widths:
            self.grid = (self.grid[0] // 2, self.grid[1] // 2)
        if not all(self.grid):
            raise ValueError(
                f"{len(config.widths)} stages halve images of {shape.height} × {shape.width} "
                "pixels until nothing is left"
            )
        widths = [self.whiten.out_channels, *config.widths]
        self.stages: Sequence[Stage] = nn.ModuleList(  # type: ignore[assignment]
            Stage(before, after, config.residual_blocks) for before, after in pairwise(widths)
        )

    @torch.no_grad()
    def initialise(self, images: Tensor) -> None:
        """Prepare a new model for training on data like these images [N, C, H, W]."""
        self.standardise.initialise(images)
        self.whiten.initialise(self.standardise(images))

    def forward(self, images: Tensor) -> Encoded:
        x = F.gelu(self.whiten(lowered(self.standardise(images))))
        for stage in self.stages:
            x = stage(x)
        return Encoded(as_grid(x), x.amax((2, 3)))


class Whiten(Conv2d):
    """A convolution of 2 × 2 pixels whose outputs are uncorrelated on the data, each with both
    signs. Only its bias is learned.
    """

    def __init__(self, channels: int) -> None:
        super().__init__(channels, 8 * channels, 2)
        self.weight.requires_grad_(False)

    @torch.no_grad()
    def initialise(self, images: Tensor) -> None:
        # A few images at a time: in double precision, all patches would take gigabytes.
        total = torch.zeros((), dtype=torch.float64)
        squares, count = total, 0
        for part in images.split(IMAGES_AT_ONCE):
            patches = F.unfold(part.double(), 2).transpose(1, 2).flatten(0, 1)  # [all, 4 C]
            total, squares = total + patches.sum(0), squares + patches.T @ patches
            count += len(patches)
        covariance = (squares - torch.outer(total, total) / count) / (count - 1)
        variances, directions = torch.linalg.eigh(covariance)
        filters = directions / (variances + LEAST_VARIANCE).sqrt()
        filters = filters.T.unflatten(1, (self.in_channels, 2, 2))
        self.weight.copy_(torch.cat((filters, -filters)))
        nn.init.zeros_(self.bias)  # type: ignore[arg-type]


class Stage(nn.Module):
    """[B, before, H, W] → [B, after, H/2, W/2]"""

    def __init__(self, before: int, after: int, residual_blocks: int) -> None:
        super().__init__()
        self.widen = Convolution(before, after)
        self.residual: Sequence[ResidualBlock] = nn.ModuleList(  # type: ignore[assignment]
            ResidualBlock(after) for _ in range(residual_blocks)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.widen(x, pool=True)
        for block in self.residual:
            x = block(x)
        return x
