"""Settings of the decoders that describe an image."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from regard.configs.recurrent import RecurrentCells
from regard.layers.choices import Activation


class RecurrentCaptionerConfig(RecurrentCells):
    """Recurrent layers that look at the grid of an image before each word (Xu et al. 2015), or that
    start from one vector of the whole image (Vinyals et al. 2015).
    """

    num_layers: int = Field(default=1, ge=1, le=200, description="Layers on top of each other.")
    d_model: int = Field(
        default=512, ge=2, le=65536, description="Width of embeddings, states and features."
    )
    attention: Literal["none", "additive"] = Field(
        default="additive",
        description="How the decoder looks at the image: cell by cell, or only as a whole.",
    )
    dropout: float = Field(
        default=0.3, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )
    tied_embeddings: bool = Field(
        default=True, description="Whether input and output share one table of embeddings."
    )

    @property
    def depth(self) -> int:
        return self.num_layers

    @property
    def looks_at(self) -> Literal["grid", "whole"]:
        return "whole" if self.attention == "none" else "grid"

    def summary(self) -> str:
        layers = f"{self.num_layers} layer" + "s" * (self.num_layers > 1)
        looking = "no attention" if self.attention == "none" else "additive attention"
        return f"recurrent, {self.cell_name}, {layers}, d_model {self.d_model}, {looking}"


class TransformerCaptionerConfig(BaseModel):
    """The decoder of a Transformer, with attention to the grid of an image."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["transformer"] = Field(
        default="transformer", description="The model: the decoder of a Transformer."
    )
    num_layers: int = Field(default=3, ge=1, le=200, description="Blocks of the decoder.")
    d_model: int = Field(default=256, ge=2, le=65536, description="Width of every token's vector.")
    d_ff: int = Field(
        default=1024, ge=1, le=262144, description="Inner width of the feed-forward layers."
    )
    num_heads: int = Field(default=4, ge=1, le=1024, description="Attention heads of a layer.")
    dropout: float = Field(
        default=0.2, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )
    activation: Activation = Field(
        default="gelu", description="Function between the two feed-forward products."
    )
    tied_embeddings: bool = Field(
        default=True, description="Whether input and output share one table of embeddings."
    )

    @model_validator(mode="after")
    def heads_share_the_width(self) -> "TransformerCaptionerConfig":
        if self.d_model % self.num_heads:
            raise ValueError(
                f"d_model = {self.d_model} is not a multiple of num_heads = {self.num_heads}"
            )
        return self

    @property
    def depth(self) -> int:
        return self.num_layers

    @property
    def looks_at(self) -> Literal["grid", "whole"]:
        return "grid"

    def summary(self) -> str:
        return (
            f"transformer, {self.num_layers} layers, d_model {self.d_model}, d_ff {self.d_ff}, "
            f"{self.num_heads} heads, {self.activation}"
        )
