"""How pixels become numbers: our settings of images as the file of an image processor, and back.

An image that has the model's size already gives the same numbers on both sides. Others are made
smaller by rules that differ a little: regard's are bicubic, whatever the file says.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.engines.saved import optional_object
from regard.engines.settings import Settings
from regard.errors import RunError

FILE, NESTED = "preprocessor_config.json", "processor_config.json"
BICUBIC = 3
# The ways to make a square of an image that an image processor has, too.
FITS = ("crop", "squeeze")


@dataclass(frozen=True)
class Pixels:
    """How a model sees images."""

    size: int
    channels: int
    fit: str
    mean: Tensor  # [channels], of numbers from 0 to 255
    std: Tensor

    def data(self) -> dict[str, Any]:
        """The same as settings of a [data] section."""
        return {"image_size": self.size, "channels": self.channels, "fit": self.fit}

    def sizes(self) -> dict[str, int]:
        return {"height": self.size, "width": self.size, "channels": self.channels}


def processor(name: str, pixels: Pixels) -> dict[str, Any]:
    """The contents of the file for an image processor of this name."""
    square = {"height": pixels.size, "width": pixels.size}
    crop = pixels.fit == "crop"
    return {
        "image_processor_type": name,
        "do_convert_rgb": pixels.channels == 3,
        "do_resize": True,
        "size": {"shortest_edge": pixels.size} if crop else square,
        "resample": BICUBIC,
        "do_center_crop": crop,
        "crop_size": square,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": [float(each) / 255 for each in pixels.mean],
        "image_std": [float(each) / 255 for each in pixels.std],
    }


def read_processor(folder: Path, size: int, channels: int, crops: bool) -> Pixels:
    """How the model in a folder sees images of this size. `crops` is what its family does where the
    file does not say.
    """
    settings = read_settings(folder)
    settings.expect({}, {"do_resize": True})
    crop = settings.values.get("do_center_crop", crops) is True
    for name in ("size", *(("crop_size",) if crop else ())):
        if side(settings.values.get(name, size)) != size:
            raise settings.refused(name, f"the model sees {size} × {size} pixels, no part of more")
    given = settings.values.get("size")
    middle = crop or (isinstance(given, dict) and "shortest_edge" in given)
    scale = 1.0
    if settings.values.get("do_rescale", True) is True:
        scale = settings.number("rescale_factor", 1 / 255)
        if not 0 < scale < math.inf:
            raise settings.refused("rescale_factor", "a number above 0 is needed")
    mean, std = [0.0] * channels, [1.0] * channels
    if settings.values.get("do_normalize", True) is True:
        mean, std = (numbers(settings, name, channels) for name in ("image_mean", "image_std"))
    if min(std) <= 0:
        raise settings.refused("image_std", "numbers above 0 are needed")
    return Pixels(
        size,
        channels,
        "crop" if middle else "squeeze",
        torch.tensor(mean, dtype=torch.float64).div(scale).float(),
        torch.tensor(std, dtype=torch.float64).div(scale).float(),
    )


def read_settings(folder: Path) -> Settings:
    """The settings of the image processor, which has a file of its own or a part of one."""
    path = folder / FILE
    values: Any = optional_object(path)
    if not values:
        path = folder / NESTED
        values = optional_object(path).get("image_processor")
    if not isinstance(values, dict) or not values:
        raise RunError(
            f"{folder}: no {FILE} here, which says how pixels become numbers; save the model's "
            "image processor into the folder"
        )
    return Settings(values, path)


def side(size: object) -> int | None:
    """The side of the square that a size stands for; None if it stands for something else."""
    match size:
        case {"shortest_edge": int(found)}:
            return found
        case {"height": int(found), "width": int(width)} if found == width:
            return found
        case int():
            return size
    return None


def numbers(settings: Settings, name: str, channels: int) -> list[float]:
    """A number for each channel."""
    found = settings.values.get(name)
    values = found if isinstance(found, list) else [found] * channels
    if len(values) != channels:
        raise settings.refused(name, f"a number for each of {channels} channels is needed")
    plain = [Settings({name: each}, settings.where).number(name, 0.0) for each in values]
    if not all(map(math.isfinite, plain)):
        raise settings.refused(name, "finite numbers are needed")
    return plain
