"""Settings of a multilayer perceptron over the pixels of an image."""

from itertools import pairwise
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from regard.configs.image import ImageShape, Layer


class MlpConfig(BaseModel):
    """Linear maps with a non-linearity between, which know nothing of rows and columns: what other
    models of images are compared with.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["mlp"] = Field(default="mlp", description="The model: a multilayer perceptron.")
    num_layers: int = Field(default=2, ge=1, le=200, description="Layers on top of each other.")
    d_model: int = Field(default=512, ge=1, le=65536, description="Width of every layer.")
    dropout: float = Field(
        default=0.2, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )

    @property
    def sizes(self) -> str:
        return f"{self.num_layers} layers of {self.d_model}"

    @property
    def depth(self) -> int:
        return self.num_layers

    def summary(self) -> str:
        return f"mlp, {self.sizes}"

    def layers(self, shape: ImageShape) -> list[Layer]:
        widths = [shape.height * shape.width * shape.channels, *[self.d_model] * self.num_layers]
        return [Layer(before, after, 1, 1, 1, bias=True) for before, after in pairwise(widths)]
