"""Multilayer perceptron over the pixels of an image: what the other encoders are compared with.

Shapes: B images, C channels, H × W pixels, d d_model.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch.nn.functional as F
from torch import Tensor, nn

from regard.configs.image import ImageShape
from regard.configs.mlp import MlpConfig
from regard.layers.dropout import Dropout
from regard.layers.images import Encoded, Standardise
from regard.layers.linear import Linear
from regard.layers.precision import lowered


class Mlp(nn.Module):
    def __init__(self, config: MlpConfig, shape: ImageShape) -> None:
        super().__init__()
        self.config = config
        self.d_model = config.d_model
        self.grid = (1, 1)
        self.standardise = Standardise(shape.channels)
        pixels = shape.height * shape.width * shape.channels
        widths = [pixels, *[config.d_model] * config.num_layers]
        self.layers: Sequence[nn.Linear] = nn.ModuleList(  # type: ignore[assignment]
            Linear(before, after) for before, after in pairwise(widths)
        )
        for layer in self.layers:
            nn.init.normal_(layer.weight, std=(2 / layer.in_features) ** 0.5)
            nn.init.zeros_(layer.bias)
        self.dropout = Dropout(config.dropout)

    def initialise(self, images: Tensor) -> None:
        """Prepare a new model for training on data like these images [N, C, H, W]."""
        self.standardise.initialise(images)

    def forward(self, images: Tensor) -> Encoded:
        """The grid has one place, since an MLP has no places: [B, 1, d]"""
        x: Tensor = lowered(self.standardise(images)).flatten(1)
        for layer in self.layers:
            x = F.relu(layer(self.dropout(x) if layer is not self.layers[0] else x))
        return Encoded(x[:, None], x)
