"""Settings of a residual convolutional network."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Width = Annotated[int, Field(ge=1, le=16384)]


class CnnConfig(BaseModel):
    """Stages of convolutions, each of which halves the rows and columns of the one before it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["cnn"] = Field(default="cnn", description="The model: a residual CNN.")
    widths: tuple[Width, ...] = Field(
        default=(64, 128, 256),
        min_length=1,
        max_length=10,
        description="Channels of each stage; a stage halves the rows and columns.",
    )
    residual_blocks: int = Field(
        default=1, ge=0, le=50, description="Pairs of convolutions with a shortcut in each stage."
    )
    dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Share of the features that training hides at random."
    )

    @property
    def d_model(self) -> int:
        return self.widths[-1]

    @property
    def sizes(self) -> str:
        widths = ", ".join(map(str, self.widths))
        return f"{len(self.widths)} stages of {widths} channels, {self.depth} convolutions"

    @property
    def depth(self) -> int:
        return 1 + len(self.widths) * (1 + 2 * self.residual_blocks)

    def summary(self) -> str:
        return f"cnn, {self.sizes}"
