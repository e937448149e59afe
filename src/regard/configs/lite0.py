"""Settings of EfficientNet-Lite0, an encoder that was trained on ImageNet."""

from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from regard.configs.image import ImageShape, Layer

# Groups of blocks: how many, kernel size, stride of the first, expansion, channels.
GROUPS = [
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
]


class Block(NamedTuple):
    kernel: int
    stride: int
    expansion: int
    after: int  # channels


def blocks() -> list[Block]:
    """All blocks, one after another."""
    return [
        Block(kernel, 1 if place else stride, expansion, after)
        for count, kernel, stride, expansion, after in GROUPS
        for place in range(count)
    ]


def halved(side: int) -> int:
    """The side that a convolution of stride 2 leaves."""
    return -(-side // 2)


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

    def layers(self, shape: ImageShape) -> list[Layer]:
        """All convolutions, whatever the shape of the images, which are scaled."""
        side = halved(self.input_size)
        found = [Layer(3, 32, 9, self.input_size**2, side**2, norm=True, keeps_input=True)]
        for block in blocks():
            before, inner = found[-1].after, found[-1].after * block.expansion
            read = side**2
            side = halved(side) if block.stride == 2 else side
            places, wide = side**2, {"norm": True, "keeps_input": True}
            if block.expansion > 1:
                found.append(Layer(before, inner, 1, read, read, **wide))
            area = block.kernel**2
            found.append(Layer(inner, inner, area, read, places, groups=inner, **wide))
            found.append(Layer(inner, block.after, 1, places, places, norm=True))
        last = found[-1].after
        return [*found, Layer(last, self.d_model, 1, places, places, norm=True, keeps_input=True)]

    def summary(self) -> str:
        return f"lite0, {'frozen' if self.frozen else 'trained further'}, {self.sizes}"
