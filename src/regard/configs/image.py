"""The shape of the images that a model reads."""

from typing import NamedTuple


class ImageShape(NamedTuple):
    height: int
    width: int
    channels: int  # 1 for grey, 3 for colour
