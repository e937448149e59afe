"""Settings of a residual convolutional network."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from regard.configs.image import ImageShape, Layer

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

    def layers(self, shape: ImageShape) -> list[Layer]:
        """All convolutions, the first of which is not learned but for its bias."""
        height, width, before = shape.height - 1, shape.width - 1, 8 * shape.channels
        places, read = height * width, shape.height * shape.width
        found = [
            Layer(shape.channels, before, 4, read, places, bias=True, keeps_input=True),
        ]
        usual = {"norm": True, "keeps_input": True}
        for after in self.widths:
            height, width = height // 2, width // 2
            half = height * width
            found.append(Layer(before, after, 9, places, places, pooled=half, **usual))
            places, before = half, after
            residual = Layer(after, after, 9, places, places, **usual)
            found += [residual] * (2 * self.residual_blocks)
        return found
