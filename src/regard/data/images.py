"""One image, from bytes or a file to pixels, safely.

An image is read upright (as its EXIF orientation says), with what is transparent on white, with its
colours in sRGB where an RGB or CMYK profile is embedded, and as the first frame of an animation.
Grey values of 16 bits keep their upper 8, as Pillow does with colours. Profiles of grey images are
ignored.

A file is not trusted: what it is must be seen in its first bytes, and what it would cost is known
before it is decoded. Whatever Pillow makes of a damaged file becomes a `DataError` of one sentence.
"""

from __future__ import annotations

import io
import re
import struct
import threading
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

from regard.data.image_colours import Refused, in_srgb, of_eight_bits
from regard.data.image_costs import MOST_BYTES, PixelBudget, check_file, check_image, too_large
from regard.data.image_formats import FORMATS, conversion_of, kind_of_image
from regard.errors import DataError
from regard.small_files import read_small

Pixels = npt.NDArray[np.uint8]
Fit = Literal["crop", "squeeze", "pad"]

# Between the smaller image and white or black: what a network sees as nothing.
GREY: dict[str, int | tuple[int, ...]] = {
    "L": 128,
    "RGB": (128,) * 3,
    "RGBA": (128, 128, 128, 255),
    "CMYK": (0, 0, 0, 127),
}
# Tags of EXIF and TIFF.
ORIENTATION, SUBFILE_TYPE, DNG_VERSION = 0x0112, 254, 50706
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# What Pillow raises for damaged files, one or another.
PILLOW_ERRORS = (
    *(OSError, ValueError, SyntaxError, LookupError, TypeError, ArithmeticError),
    *(struct.error, AttributeError, RuntimeError, EOFError, AssertionError, zlib.error),
)

# Python has one filter of warnings for all threads.
_QUIET = threading.RLock()


def read(path: Path, channels: int) -> Pixels:
    """The pixels of an image file, [height, width, channels]."""
    return decode(content(path), str(path), channels)


def decode(data: bytes, place: str, channels: int) -> Pixels:
    """The pixels of an image, [height, width, channels]; 1 channel is grey, 3 are colours."""
    with quiet():
        return decoded(data, place, channels, None)


def fitted(
    source: bytes | Pixels,
    size: int,
    fit: Fit,
    channels: int,
    place: str = "image",
    budget: PixelBudget | None = None,
) -> Pixels:
    """An image as a square, [size, size, channels]: its middle ("crop"), all of it out of shape
    ("squeeze"), or all of it with grey beside it ("pad"). `source` is the content of a file, or
    pixels; a file is only decoded if the budget has enough left.
    """
    with quiet():
        return decoded(source, place, channels, (size, fit), budget)


def check_format(data: bytes, place: str) -> None:
    """Refuse, by its first bytes, what is no image. This costs nothing; damage is seen later."""
    try:
        _format_of(data)
    except Refused as refused:
        raise DataError(f"{place}: {refused}") from None


@contextmanager
def quiet() -> Iterator[None]:
    """Let Pillow not warn: it says in words for developers what we say in our own."""
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def decoded(
    source: bytes | Pixels,
    place: str,
    channels: int,
    square: tuple[int, Fit] | None,
    budget: PixelBudget | None = None,
) -> Pixels:
    """The same within `quiet`, which all threads share."""
    try:
        if isinstance(source, np.ndarray):
            image = _from_pixels(source)
        else:
            image = _opened(source, channels, square, budget)
        found = _with_channels(image, channels, square)
    except Refused as refused:
        raise DataError(f"{place}: {refused}") from None
    except MemoryError:
        raise DataError(f"{place}: there is not enough memory to read this image") from None
    except Image.DecompressionBombError:
        raise DataError(f"{place}: {too_large()}") from None
    except PILLOW_ERRORS as error:
        raise DataError(f"{place}: {_damage(source, error)}") from None
    return found


def content(path: Path) -> bytes:
    """The bytes of a file that can be an image: a regular one, and not too large."""
    try:
        return read_small(path, MOST_BYTES, links=True)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; check the path") from None
    except IsADirectoryError:
        raise DataError(f"{path}: this is a folder; give the image in it") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the file") from None


def _opened(
    data: bytes, channels: int, square: tuple[int, Fit] | None, budget: PixelBudget | None
) -> Image.Image:
    """An image whose cost is known, decoded."""
    kind = _format_of(data)
    image = Image.open(io.BytesIO(data), formats=[kind])
    size = image.size
    if kind == "TIFF" and _is_preview(image):
        raise Refused(conversion_of(data, "camera raw"))
    if square is not None and kind == "JPEG":
        # The decoder makes it 2, 4 or 8 times smaller at a fraction of the cost.
        image.draft("L" if channels == 1 else None, (square[0], square[0]))
    check_image(image, size, square is None, budget)
    image.load()
    return image


def _format_of(data: bytes) -> str:
    """The format of an image that is read, by its first bytes."""
    kind = kind_of_image(data)
    check_file(data, kind)
    if kind not in FORMATS:
        raise Refused(conversion_of(data, kind))
    return kind


def _is_preview(image: Image.Image) -> bool:
    """Whether a TIFF is a camera's raw file, of which Pillow would read the small preview."""
    tags = getattr(image, "tag_v2", {})
    return DNG_VERSION in tags or bool(tags.get(SUBFILE_TYPE, 0) & 1)


def _damage(source: bytes | Pixels, error: Exception) -> str:
    """What is wrong with a file that Pillow cannot decode."""
    if isinstance(source, np.ndarray):
        return f"not an image ({source.dtype}, shape {source.shape}); give uint8 pixels"
    if re.search("truncated|not enough|unexpected end|end of file|too short", str(error).lower()):
        return "the image is cut off; fetch it again, or remove it"
    if "MAX_TEXT" in str(error):
        return "its text unpacks to more than an image's; save it without"
    kind = kind_of_image(source)
    return f"a damaged image ({kind}); fetch it again, or remove it"


def _from_pixels(pixels: npt.NDArray[Any]) -> Image.Image:
    """Pixels of 0 … 255 as an image; [height, width] is grey."""
    array = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[-1] == 1 else pixels
    if pixels.dtype != np.uint8 or array.size == 0:
        raise TypeError
    if array.ndim != 2 and (array.ndim != 3 or array.shape[-1] not in (3, 4)):
        raise TypeError
    return Image.fromarray(np.ascontiguousarray(array))


def _with_channels(image: Image.Image, channels: int, square: tuple[int, Fit] | None) -> Pixels:
    """Fit the image, then turn it and mend its colours: on few pixels that costs nothing."""
    profile = image.info.get("icc_profile")
    turn = TURNS.get(_orientation(image))
    image = of_eight_bits(image)
    if square is not None:
        image = _square(image, *square)
    if turn is not None:
        image = image.transpose(turn)
    if image.mode == "RGBA":
        white = Image.new("RGB", image.size, "white")
        white.paste(image, mask=image)
        image = white
    if channels == 3 and isinstance(profile, bytes) and image.mode in ("RGB", "CMYK"):
        image = in_srgb(image, profile)
    if image.mode == "CMYK":
        image = image.convert("RGB")
    wanted = "L" if channels == 1 else "RGB"
    found = np.array(image if image.mode == wanted else image.convert(wanted))
    return found.reshape(*found.shape[:2], channels)


def _orientation(image: Image.Image) -> int:
    """Where the top of the image is, 1 … 8; 1 if its EXIF block is missing or damaged."""
    try:
        found = image.getexif().get(ORIENTATION, 1)
    except Exception:  # Pillow's reader of EXIF lets anything through
        return 1
    return found if isinstance(found, int) else 1


def _square(image: Image.Image, size: int, fit: Fit) -> Image.Image:
    width, height = image.size
    bicubic = Image.Resampling.BICUBIC
    if fit == "pad":
        scale = size / max(width, height)
        inner = max(1, round(width * scale)), max(1, round(height * scale))
        small = image.resize(inner, bicubic, reducing_gap=2.0)
        padded = Image.new(image.mode, (size, size), GREY[image.mode])
        padded.paste(small, ((size - inner[0]) // 2, (size - inner[1]) // 2))
        return padded
    box = (0.0, 0.0, float(width), float(height))
    if fit == "crop":
        side = min(width, height)
        left, top = (width - side) / 2, (height - side) / 2
        box = (left, top, left + side, top + side)
    if (width, height) == (size, size):
        return image
    return image.resize((size, size), bicubic, box, reducing_gap=2.0)
