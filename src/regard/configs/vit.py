"""Settings of a Vision Transformer (Dosovitskiy et al. 2021)."""

from itertools import pairwise
from typing import Literal

from pydantic import Field, model_validator

from regard.configs.image import ImageShape, Layer
from regard.configs.stack import OneStack
from regard.configs.transformer import feed_forward_weights
from regard.configs.work import Work


class VitConfig(OneStack):
    """An encoder that reads an image as a sequence of patches. The default suits small images, and
    can be trained without a graphics card.
    """

    kind: Literal["vit"] = Field(default="vit", description="The model: a Vision Transformer.")
    num_layers: int = Field(default=6, ge=1, le=200, description="Blocks on top of each other.")
    d_model: int = Field(default=192, ge=2, le=65536, description="Width of every patch's vector.")
    d_ff: int = Field(
        default=384, ge=1, le=262144, description="Inner width of the feed-forward layers."
    )
    num_heads: int = Field(default=3, ge=1, le=1024, description="Attention heads of a layer.")
    dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )
    norm_epsilon: float = Field(
        default=1e-6, gt=0, le=1, description="Small number that keeps norms from dividing by 0."
    )
    patch_size: int = Field(
        default=4, ge=1, le=1024, description="Pixels of a patch's side, which divides the image's."
    )
    stem: Literal["patch", "convolution"] = Field(
        default="convolution",
        description="What makes vectors of pixels: one product a patch, or convolutions.",
    )
    stem_blocks: int = Field(
        default=0,
        ge=0,
        le=50,
        description="Pairs of convolutions with a shortcut after each halving of stem convolution.",
    )
    positions: Literal["learned", "sinusoidal", "rotary"] = Field(
        default="learned", description="How a patch's row and column are known."
    )
    pooling: Literal["mean", "token"] = Field(
        default="mean", description="The whole image: the mean of its patches, or a class token."
    )
    embedding_norm: bool = Field(
        default=False, description="Whether vectors are normalised before the first block, too."
    )

    @model_validator(mode="after")
    def fits_together(self) -> "VitConfig":
        if self.stem == "convolution" and (self.patch_size < 2 or self.patch_size.bit_count() > 1):
            raise ValueError(
                f"stem = 'convolution' halves the image again and again, so patch_size has to be "
                f"2, 4, 8 …, it is {self.patch_size}"
            )
        if self.stem == "patch" and self.stem_blocks:
            raise ValueError(
                f"stem = 'patch' has no convolutions, so stem_blocks has to be 0, it is "
                f"{self.stem_blocks}; or take stem = 'convolution'"
            )
        if self.positions == "sinusoidal" and self.d_model % 4:
            raise ValueError(
                f"sinusoidal positions of rows and columns need a d_model that 4 divides, "
                f"it is {self.d_model}"
            )
        if self.positions == "rotary" and self.d_model // self.num_heads % 4:
            raise ValueError(
                f"rotary positions of rows and columns need heads of a width that 4 divides, "
                f"it is {self.d_model // self.num_heads}"
            )
        return self

    def summary(self) -> str:
        return f"vit, {self.sizes}, patches of {self.patch_size} pixels, {self.stem} stem"

    def cells(self, shape: ImageShape) -> int:
        return shape.height // self.patch_size * (shape.width // self.patch_size)

    def tokens(self, shape: ImageShape) -> int:
        """Patches, and the class token if there is one."""
        return self.cells(shape) + (self.pooling == "token")

    def blocks(self, tokens: int, mixed: bool, grid: bool) -> tuple[float, float]:
        """Flops of the blocks for one image, and bytes that they keep. Where nobody reads the grid
        and a class token stands for the image, the last block computes only that.
        """
        if grid or self.pooling == "mean" or self.positions == "rotary":
            rotary = self.positions == "rotary"
            flops = self.stack_flops(0, Work(0, 0), tokens, tokens)
            return flops, self.stack_bytes(tokens, mixed, rotary)
        d = self.d_model
        others = self.model_copy(update={"num_layers": self.num_layers - 1})
        last = 4 * d * d + feed_forward_weights(d, self.d_ff, self.activation)
        last += 2 * self.num_heads * d * tokens
        flops = others.stack_flops(0, Work(0, 0), tokens, tokens) + 6.0 * last
        # The last norm keeps next to nothing; the norm before it keeps what it reads and makes.
        return flops, others.stack_bytes(tokens, mixed) - tokens * d * (2 if mixed else 4)

    def stem_widths(self, channels: int) -> list[int]:
        """Channels before and after the convolutions of the stem, each twice as wide as the one
        before it, the last as wide as a patch's vector.
        """
        halvings = self.patch_size.bit_length() - 1
        widths = [max(1, self.d_model >> later) for later in reversed(range(halvings))]
        return [channels, *widths]

    def layers(self, shape: ImageShape) -> list[Layer]:
        """The layers before the blocks."""
        height, width = shape.height, shape.width
        if self.stem == "patch":
            area = self.patch_size**2
            read, written = height * width, self.cells(shape)
            return [Layer(shape.channels, self.d_model, area, read, written, bias=True)]
        found = []
        for before, after in pairwise(self.stem_widths(shape.channels)):
            places = height * width
            height, width = height // 2, width // 2
            half = height * width
            found.append(Layer(before, after, 9, places, places, pooled=half))
            residual = Layer(after, after, 9, half, half, norm=True, keeps_input=True)
            found += [residual] * (2 * self.stem_blocks)
        return found
