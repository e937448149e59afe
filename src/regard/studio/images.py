"""Questions about runs that see images. The page sends back the small square that it was given, so
that the server keeps nothing.
"""

import base64
import binascii
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import torch

from regard import tasks
from regard.errors import RegardError, RequestError
from regard.inspect.heads.heads import heads_off
from regard.inspect.images.hiding import scaled
from regard.inspect.images.maps import image_maps
from regard.inspect.images.positions import position_similarity
from regard.run import Run
from regard.studio.requests import Asked, Image, Samples
from regard.studio.runs import OpenRun
from regard.tasks.image_inputs import ImageReader

# The views of runs that see images.
SEEING = ("image", "caption", "match")
# Validation images that a page offers.
SAMPLES = 24


def square(run: OpenRun, data: bytes) -> dict[str, Any]:
    """An image file as the model sees it. Its cost is known before it is decoded."""
    pixels = reader_of(run).square(data)
    return {"pixels": packed(pixels), "size": len(pixels), "channels": pixels.shape[-1]}


def reader_of(run: OpenRun, *views: str) -> ImageReader:
    """How the run's images are read, if it has one of these views."""
    if not {*(views or SEEING)} & {*tasks.entry(run.task).views}:
        raise RequestError(f"{run.folder}: this run sees no such images; reload the page")
    recipe: Any = Run(run.folder).recipe()
    return ImageReader.of(recipe.data)


def packed(pixels: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(pixels).tobytes()).decode()


def unpacked(text: str, reader: ImageReader) -> Any:
    """The pixels of a square, [size, size, channels]."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    shape = (reader.size, reader.size, reader.channels)
    if len(data) != reader.size**2 * reader.channels:
        raise RequestError("these are not the pixels of an image; reload the page")
    return np.frombuffer(data, np.uint8).reshape(shape)


def image(run: OpenRun, asked: Image) -> dict[str, Any]:
    """The labels of an image, and everything that is to be seen of how they came about. All maps
    have the rows and columns of the patches that can be hidden.
    """
    pixels = unpacked(asked.pixels, reader_of(run, "image"))
    with run.opened(asked.step) as found, heads_off(found.model, asked.off):
        seen = image_maps(found, pixels, asked.label or None, asked.hidden)
    rows, columns = seen.hidden.shape

    def fitting(values: Any) -> Any:
        return scaled(torch.from_numpy(values), (rows, columns)).tolist()

    return {
        "label": seen.label,
        "labels": seen.probabilities,
        "grid": [rows, columns],
        "maps": {name: fitting(each) for name, each in seen.maps.items()},
        "agreement": seen.agreement,
        "heads": [[fitting(head) for head in layer] for layer in seen.heads],
        "hidden": seen.hidden.tolist(),
    }


def image_positions(run: OpenRun, asked: Asked) -> dict[str, Any]:
    """How alike the positions of two patches are, [patches, patches]; None without positions."""
    reader_of(run)
    with run.opened(asked.step) as found:
        alike = position_similarity(found.model.encoder)
    return {"alike": None if alike is None else alike.flatten(2).flatten(0, 1).tolist()}


def image_samples(run: OpenRun, asked: Samples) -> dict[str, Any]:
    """Validation images as the model sees them, with labels or texts; none if they are gone."""
    reader = reader_of(run)
    found = validation(run)
    places = []
    if found is not None:
        places = asked.places or chosen_places(found.part)
    return {
        "size": reader.size,
        "channels": reader.channels,
        "samples": [found.sample(place) for place in places] if found is not None else [],
    }


@dataclass(frozen=True)
class Validation:
    """The validation images of a run."""

    pixels: Any  # [N, S, S, C], all images of the cache
    part: dict[str, Any]
    labels: list[str]

    def square(self, place: int) -> Any:
        return self.pixels[self.part["rows"][place]]

    def texts(self, place: int) -> list[str]:
        """The captions of an image, or its label."""
        if "captions" in self.part:
            return list(self.part["captions"][place])
        return [self.labels[self.part["labels"][place]]]

    def sample(self, place: int) -> dict[str, Any]:
        if place >= len(self.part["rows"]):
            raise RequestError(f"there is no validation image {place}; reload the page")
        texts = self.texts(place)
        return {
            "place": place,
            "pixels": packed(self.square(place)),
            "label": texts[0],
            "texts": texts,
            "name": str(self.part["names"][place]),
        }


def validation(run: OpenRun) -> Validation | None:
    """The validation images that training has decoded; None if they are gone."""
    from regard.data.image_cache import open_cache
    from regard.tasks.image_data import CachedImages

    opened = Run(run.folder)
    folder = opened.training / "data"
    try:
        cached = CachedImages(open_cache(folder / "images"), folder)
        part = cached.part("valid")
        labels = opened.labels() if "labels" in part else []
    except (OSError, ValueError, RegardError):
        return None
    return Validation(cached.cache.pixels, part, labels)


def chosen_places(part: dict[str, Any]) -> list[int]:
    """The first images; where they have labels, one of each, then a second one of each, …"""
    if "labels" not in part:
        return list(range(min(SAMPLES, len(part["rows"]))))
    of_label: dict[int, list[int]] = {}
    for place, label in enumerate(part["labels"]):
        of_label.setdefault(label, []).append(place)
    turns = zip_longest(*(of_label[each] for each in sorted(of_label)))
    return [place for turn in turns for place in turn if place is not None][:SAMPLES]
