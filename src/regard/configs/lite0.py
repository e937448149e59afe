"""Settings of EfficientNet-Lite0, an encoder that was trained on ImageNet."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Lite0Config(BaseModel):
    """EfficientNet-Lite0 with the weights of its authors, either frozen or trained further. Its
    sizes are given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["lite0"] = Field(default="lite0", description="The model: EfficientNet-Lite0.")
    input_size: int = Field(
        default=128,
        ge=32,
        le=1024,
        description="Pixels of a side that images are scaled to; it was trained with 224.",
    )
    frozen: bool = Field(
        default=True, description="Whether the encoder stays as it is and only the rest learns."
    )
    dropout: float = Field(
        default=0.2, ge=0, lt=1, description="Share of the features that training hides at random."
    )

    @property
    def d_model(self) -> int:
        return 1280

    @property
    def sizes(self) -> str:
        return f"16 blocks, images of {self.input_size} pixels"

    @property
    def depth(self) -> int:
        return 18

    def summary(self) -> str:
        return f"lite0, {'frozen' if self.frozen else 'trained further'}, {self.sizes}"
