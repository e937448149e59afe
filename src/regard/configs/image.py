"""The shape of the images that a model reads, and what the layers of an encoder cost for one."""

from collections.abc import Sequence
from typing import NamedTuple


class ImageShape(NamedTuple):
    height: int
    width: int
    channels: int  # 1 for grey, 3 for colour


class Layer(NamedTuple):
    """A convolution, or a linear map, of an encoder. Places are those of one image."""

    before: int  # channels
    after: int
    area: int  # places that one output sees of each channel
    read: int  # places that it reads
    written: int  # places that it writes
    groups: int = 1  # as many as channels for one filter a channel
    bias: bool = False
    norm: bool = False  # whether batch normalisation follows
    pooled: int = 0  # places that are left if pooling follows
    # Whether the non-linearity after it keeps its input, and not its output, for the backward pass.
    keeps_input: bool = False

    @property
    def weights(self) -> int:
        return self.area * self.before // self.groups * self.after

    @property
    def parameters(self) -> int:
        return self.weights + self.after * (self.bias + 2 * self.norm)

    @property
    def products(self) -> int:
        """Multiplications of the forward pass."""
        return self.weights * self.written

    def kept_bytes(self, kept: int) -> int:
        """Bytes of one image for the backward pass, where a number has `kept` bytes. Pooling also
        keeps the place of each largest number, in 8 bytes.
        """
        last = self.pooled or self.written
        numbers = self.before * self.read
        if self.pooled:
            numbers += self.after * self.written
        if self.norm:
            numbers += self.after * last
        if self.keeps_input:
            numbers += self.after * last
        return kept * numbers + 8 * self.after * self.pooled


def total_parameters(layers: Sequence[Layer]) -> int:
    return sum(layer.parameters for layer in layers)
