"""Vision Transformer: an encoder over the patches of an image (Dosovitskiy et al. 2021).

Shapes: B images, C channels, H × W pixels, P patches, d d_model.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.configs.image import ImageShape
from regard.configs.vit import VitConfig
from regard.layers.dropout import Dropout
from regard.layers.grid_positions import grid_rotation, grid_sinusoids
from regard.layers.images import Encoded, Standardise
from regard.layers.patches import ConvolutionStem, PatchStem
from regard.layers.precision import lowered
from regard.layers.transformer import EncoderBlock
from regard.models.stack import stack_sizes

# Positions are smaller than the vectors of patches.
AMPLITUDE = 0.2


class Vit(nn.Module):
    def __init__(self, config: VitConfig, shape: ImageShape) -> None:
        super().__init__()
        self.config = config
        self.d_model = config.d_model
        p = config.patch_size
        if shape.height % p or shape.width % p:
            raise ValueError(
                f"patch_size {p} does not divide images of {shape.height} × {shape.width} pixels"
            )
        self.grid = (shape.height // p, shape.width // p)
        self.standardise = Standardise(shape.channels)
        self.stem: PatchStem | ConvolutionStem
        if config.stem == "patch":
            self.stem = PatchStem(shape.channels, p, config.d_model)
        else:
            self.stem = ConvolutionStem(config.stem_widths(shape.channels), config.stem_blocks)
        self.tokens = 1 if config.pooling == "token" else 0
        if self.tokens:
            self.class_token = nn.Parameter(torch.empty(config.d_model))
            nn.init.normal_(self.class_token, std=0.02)
        self.place_patches()
        sizes = stack_sizes(config, "pre")
        self.embedding_norm = sizes.normaliser() if config.embedding_norm else nn.Identity()
        self.dropout = Dropout(config.dropout)
        self.encoder: Sequence[EncoderBlock] = nn.ModuleList(  # type: ignore[assignment]
            EncoderBlock(sizes) for _ in range(config.num_layers)
        )
        self.norm = sizes.normaliser()
        for module in self.encoder.modules():  # type: ignore[attr-defined]
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02)
                nn.init.zeros_(module.bias)

    def place_patches(self) -> None:
        """Make the table of positions. Learned ones start as sinusoids, so that neighbours are
        alike from the first update.
        """
        rows, columns = self.grid
        table = torch.zeros(self.tokens + rows * columns, self.d_model)
        table[self.tokens :] = grid_sinusoids(rows, columns, self.d_model)
        table *= AMPLITUDE  # in place, which needs no compiler where there are only shapes
        rotation: Tensor | None = None
        self.positions: Tensor | None
        self.rotation: Tensor | None
        match self.config.positions:
            case "learned":
                self.positions = nn.Parameter(table)
            case "sinusoidal":
                self.register_buffer("positions", table, persistent=False)
            case "rotary":
                self.positions = None
                d_k = self.config.d_model // self.config.num_heads
                rotation = grid_rotation(rows, columns, d_k, before=self.tokens)
        self.register_buffer("rotation", rotation, persistent=False)

    def initialise(self, images: Tensor) -> None:
        """Prepare a new model for training on data like these images [N, C, H, W]."""
        self.standardise.initialise(images)

    def embed(self, images: Tensor) -> Tensor:
        """[B, C, H, W] → [B, P, d], or [B, 1 + P, d] with the class token"""
        x: Tensor = self.stem(lowered(self.standardise(images)))
        if self.tokens:
            x = torch.cat((self.class_token.expand(len(x), 1, -1), x), dim=1)
        if self.positions is not None:
            x = x + self.positions
        return self.dropout(lowered(self.embedding_norm(x)))  # type: ignore[no-any-return]

    def forward(self, images: Tensor) -> Encoded:
        x = self.embed(images)
        for block in self.encoder:
            x = block(x, rotation=self.rotation)
        x = self.norm(x)
        patches = x[:, self.tokens :]
        return Encoded(patches, x[:, 0] if self.tokens else patches.mean(1))

    def whole(self, images: Tensor) -> Tensor:
        """[B, C, H, W] → [B, d]: the vector of the whole image, as `forward` gives it. Training
        with a class token leaves out what the last block makes of the patches, which nobody reads.
        """
        if not (self.training and self.tokens and self.rotation is None):
            return self(images).whole  # type: ignore[no-any-return]
        x = self.embed(images)
        *others, last = self.encoder
        for block in others:
            x = block(x)
        return self.norm(last.first(x))  # type: ignore[no-any-return]
