"""Images as people give them to a model: files, bytes, or pixels of any kind."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.data.image_costs import PixelBudget
from regard.data.image_files import ImageList
from regard.data.images import Fit, content, fitted
from regard.errors import DataError, RequestError, shown
from regard.reporter import Reporter
from regard.tasks.image_sections import ImageSection

T = TypeVar("T")
IMAGES_AT_ONCE = 64


@dataclass(frozen=True)
class ImageReader:
    """Turns images as people give them into the squares that a model sees."""

    size: int
    channels: int
    fit: Fit

    @classmethod
    def of(cls, data: ImageSection) -> "ImageReader":
        return cls(data.image_size, data.channels, data.fit)

    def pixels(self, images: Sequence[Any]) -> NDArray[np.uint8]:
        """[B, size, size, channels]"""
        return np.stack([self.square(each) for each in images])

    def read_all(
        self, images: ImageList, numbers: Sequence[int], doing: str, reporter: Reporter
    ) -> Iterator[tuple[NDArray[np.uint8], list[int]]]:
        """The pixels and the numbers of those images of a list that can be read, some at a time.
        What is wrong with the others is said; a DataError if none can be read.
        """
        problems: list[str] = []
        with reporter.progress(doing, len(numbers)) as advance:
            for part in in_parts(numbers):
                pixels, read, wrong = self.readable(images, part)
                problems += wrong
                if read:
                    yield pixels, read
                advance(len(part))
        for each in problems:
            reporter.say(each)
        if numbers and len(problems) == len(numbers):
            raise DataError(f"{images.names[0]}: none of the images can be read")

    def readable(
        self, images: ImageList, numbers: Sequence[int]
    ) -> tuple[NDArray[np.uint8], list[int], list[str]]:
        """The pixels of those images of a list that can be read, their numbers, and what is wrong
        with the others.
        """
        found, read, problems = [], [], []
        for number in numbers:
            name = images.names[number]
            try:
                source = images.read(number)
                found.append(fitted(source, self.size, self.fit, self.channels, name))
                read.append(number)
            except DataError as error:
                problems.append(str(error))
        return np.stack(found) if found else np.empty(0, np.uint8), read, problems

    def square(
        self, image: Any, place: str = "image", budget: PixelBudget | None = None
    ) -> NDArray[np.uint8]:
        """[size, size, channels]; a file is only decoded if the budget has enough left."""
        source = image
        if isinstance(image, str | Path):
            source, place = content(Path(image)), str(image)
        elif has_pixels(image):
            source = np.asarray(image)
        elif not isinstance(image, bytes):
            raise RequestError(f"{shown(image)} is no image; give the name of a file, or pixels")
        return fitted(source, self.size, self.fit, self.channels, place, budget)


def in_parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """As many items at a time as a model reads at once."""
    for start in range(0, len(items), IMAGES_AT_ONCE):
        yield items[start : start + IMAGES_AT_ONCE]


def has_pixels(image: Any) -> bool:
    """Whether this is an array, of numpy or PyTorch, or an image of Pillow."""
    return hasattr(image, "__array__") or hasattr(image, "__array_interface__")


def several(images: Any) -> tuple[list[Any], bool]:
    """Images as a list, and whether only one was given."""
    if isinstance(images, str | Path | bytes) or has_pixels(images):
        single = not (hasattr(images, "ndim") and images.ndim == 4)
        return ([images], True) if single else (list(images), False)
    try:
        return list(images), False
    except TypeError:
        raise RequestError(
            f"{shown(images)} is no image; give the name of a file, or pixels"
        ) from None
