"""EfficientNet-Lite0 (Tan and Le 2019; Liu 2020), with the weights that its authors trained on
ImageNet.

Shapes: B images, C channels, H × W pixels, d 1280.
"""

from collections.abc import Sequence
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.configs.image import ImageShape
from regard.configs.lite0 import Lite0Config, blocks
from regard.layers.batch_norm import BatchNorm2d
from regard.layers.images import Encoded, Standardise, as_grid
from regard.models.lite0_weights import read_weights


class Lite0(nn.Module):
    def __init__(self, config: Lite0Config, shape: ImageShape) -> None:
        super().__init__()
        self.config = config
        self.d_model = config.d_model
        side = -(-config.input_size // 32)
        self.grid = (side, side)
        self.standardise = Standardise(3, mean=127.0, std=128.0)
        self.stem = Convolution(3, 32, 3, stride=2)
        self.blocks: Sequence[Block] = nn.ModuleList(all_blocks())  # type: ignore[assignment]
        self.head = Convolution(320, config.d_model, 1)
        if config.frozen:
            self.requires_grad_(False)

    def initialise(self, images: Tensor) -> None:
        """Take the weights of ImageNet. `images` are not needed: these weights know their own
        statistics.
        """
        names = [name for name in self.state_dict() if not name.startswith("standardise.")]
        # Both are in the order of the layers; the file's last two tensors predict its own classes.
        tensors = list(read_weights().values())[: len(names)]
        own = self.state_dict()
        with torch.no_grad():
            for name, tensor in zip(names, tensors, strict=True):
                assert own[name].shape == tensor.shape, name
                own[name].copy_(tensor)

    def train(self, mode: bool = True) -> Self:
        """A frozen encoder stays in evaluation mode: else its statistics would change."""
        return super().train(mode and not self.config.frozen)

    def forward(self, images: Tensor) -> Encoded:
        # Who looks inside a frozen encoder asks for gradients by the image.
        needed = not self.config.frozen or images.requires_grad
        with torch.set_grad_enabled(torch.is_grad_enabled() and needed):
            x = self.standardise(self.scaled(images))
            x = F.relu6(self.stem(x))
            for block in self.blocks:
                x = block(x)
            return Encoded.of_grid(as_grid(F.relu6(self.head(x))))

    def scaled(self, images: Tensor) -> Tensor:
        """[B, C, H, W] → [B, 3, input_size, input_size], in colour"""
        size = (self.config.input_size, self.config.input_size)
        if images.shape[2:] != size:
            values = images.to(self.standardise.mean.dtype)
            images = F.interpolate(values, size, mode="bilinear", antialias=True)
        return images.expand(-1, 3, -1, -1)


class Convolution(nn.Module):
    """A convolution with batch normalisation; groups = before for one filter a channel."""

    def __init__(
        self, before: int, after: int, kernel: int, stride: int = 1, groups: int = 1
    ) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(
            before, after, kernel, stride, padding=kernel // 2, groups=groups, bias=False
        )
        self.norm = BatchNorm2d(after, eps=1e-3, momentum=0.01)

    def forward(self, x: Tensor) -> Tensor:
        (kernel, _), (stride, _) = self.convolution.kernel_size, self.convolution.stride
        if stride > 1:
            # As the weights were trained: an odd pixel of padding goes below and to the right.
            sides = [max(0, kernel - 1 - (n - 1) % stride) for n in (x.size(3), x.size(2))]
            x = F.pad(x, [part for n in sides for part in (n // 2, n - n // 2)])
            weight = self.convolution.weight
            return self.norm(F.conv2d(x, weight, stride=stride, groups=self.convolution.groups))  # type: ignore[no-any-return]
        return self.norm(self.convolution(x))  # type: ignore[no-any-return]


class Block(nn.Module):
    """Widen, look at neighbours channel by channel, narrow; with a shortcut where the shape stays
    (Sandler et al. 2018).
    """

    def __init__(self, before: int, after: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = before * expansion
        self.expand = Convolution(before, inner, 1) if expansion > 1 else None
        self.depthwise = Convolution(inner, inner, kernel, stride, groups=inner)
        self.project = Convolution(inner, after, 1)
        self.shortcut = stride == 1 and before == after

    def forward(self, x: Tensor) -> Tensor:
        hidden = x if self.expand is None else F.relu6(self.expand(x))
        update: Tensor = self.project(F.relu6(self.depthwise(hidden)))
        return x + update if self.shortcut else update


def all_blocks() -> list[Block]:
    sizes = blocks()
    before = [32, *(each.after for each in sizes)]
    return [
        Block(width, each.after, each.kernel, each.stride, each.expansion)
        for width, each in zip(before, sizes, strict=False)
    ]
