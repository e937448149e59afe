"""Settings of a Vision Transformer (Dosovitskiy et al. 2021)."""

from typing import Literal

from pydantic import Field, model_validator

from regard.configs.stack import OneStack


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
    positions: Literal["learned", "sinusoidal", "rotary"] = Field(
        default="learned", description="How a patch's row and column are known."
    )
    pooling: Literal["mean", "token"] = Field(
        default="mean", description="The whole image: the mean of its patches, or a class token."
    )

    @model_validator(mode="after")
    def fits_together(self) -> "VitConfig":
        if self.stem == "convolution" and (self.patch_size < 2 or self.patch_size.bit_count() > 1):
            raise ValueError(
                f"stem = 'convolution' halves the image again and again, so patch_size has to be "
                f"2, 4, 8 …, it is {self.patch_size}"
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
