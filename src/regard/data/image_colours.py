"""The pixels of an image, of whatever kind, as shades of grey, colours or inks of 8 bits."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops, ImageCms

LARGEST_PROFILE = 4_000_000


class Refused(Exception):
    """Why an image is not read, without its place."""


def of_eight_bits(image: Image.Image) -> Image.Image:
    """The image as L, RGB, RGBA or CMYK."""
    if image.mode == "CMYK" and image.format == "JPEG" and "adobe" not in image.info:
        return ImageChops.invert(image)  # Pillow takes all inks for Adobe's, which are turned round
    if image.mode.startswith(("I", "F")):
        return _from_numbers(np.asarray(image))
    if image.mode in ("LA", "PA", "La", "RGBa", "RGBA") or "transparency" in image.info:
        return image if image.mode == "RGBA" else image.convert("RGBA")
    if image.mode == "1":
        return image.convert("L")
    return image if image.mode in ("L", "RGB", "CMYK") else image.convert("RGB")


def _from_numbers(values: npt.NDArray[Any]) -> Image.Image:
    """A grey image of 16 or 32 bits, or of fractions, in 8 bits."""
    low, high = float(values.min()), float(values.max())
    if values.dtype == np.uint16:
        return Image.fromarray((values >> 8).astype(np.uint8))
    if values.dtype.kind == "f" and low >= 0 and high <= 1:
        return Image.fromarray(np.rint(values * 255).astype(np.uint8))
    if low >= 0 and high <= 255:
        return Image.fromarray(np.rint(values).astype(np.uint8))
    if low >= 0 and high <= 65535:
        return Image.fromarray((values / 256).astype(np.uint8))
    raise Refused(f"its pixels are numbers from {low:g} to {high:g}; save it with 8 bits")


def in_srgb(image: Image.Image, profile: bytes) -> Image.Image:
    """The image with the colours that its profile means."""
    transform = _transform(profile, image.mode)
    return image if transform is None else transform.apply(image)


@lru_cache(maxsize=32)
def _transform(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """From a profile to sRGB; None for sRGB itself, and for a profile that is of no use."""
    if len(profile) > LARGEST_PROFILE:
        return None
    try:
        given = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        space = given.profile.xcolor_space.strip()
        if space != mode or "sRGB" in (given.profile.profile_description or ""):
            return None
        # Without the cache of the last pixel, which threads cannot share.
        return ImageCms.ImageCmsTransform(
            given,
            ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")),
            mode,
            "RGB",
            flags=ImageCms.Flags.NOCACHE,
        )
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return None
