"""What it costs to decode an image: known from its first bytes, before a pixel is decoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PIL import Image

from regard.data.image_colours import Refused

MOST_BYTES = 50_000_000
# Below the number from which Pillow itself warns.
MOST_PIXELS = 80_000_000
# What the pixels may take while they are decoded, in bytes.
MOST_MEMORY = 200_000_000
# A progressive JPEG has about ten scans; a thousand can take minutes.
MOST_SCANS = 50
# Parts of a PNG that are packed, each of which may unpack to a megabyte that nobody looks at.
PACKED_PARTS = (b"zTXt", b"iTXt", b"iCCP")
MOST_PACKED_PARTS = 32
# These are decoded by Python, a pixel at a time.
SLOW_DECODERS = ("ppm", "ppm_plain")
MOST_SLOW_PIXELS = 2_000_000
# A tile of a TIFF may be larger than the image, but has no reason to be much larger.
MOST_TILE_PIXELS = 1 << 22
# Tags of TIFF.
BITS, SAMPLES, STRIP_ROWS, TILE_WIDTH, TILE_HEIGHT = 258, 277, 278, 322, 323


@dataclass
class PixelBudget:
    """The pixels of several images that may be decoded for one purpose."""

    left: int

    def spend(self, pixels: int) -> None:
        if pixels > self.left:
            raise Refused("too many pixels in these images together; send fewer at once")
        self.left -= pixels


def check_file(data: bytes, kind: str) -> None:
    """Refuse a file that is expensive before its size in pixels is even known."""
    if len(data) > MOST_BYTES:
        raise Refused(f"more than {MOST_BYTES / 1e6:.0f} MB; save it smaller")
    if kind == "JPEG" and data.count(b"\xff\xda") > MOST_SCANS:
        raise Refused(f"a JPEG of more than {MOST_SCANS} scans; save it again")
    if kind == "PNG" and sum(map(data.count, PACKED_PARTS)) > MOST_PACKED_PARTS:
        raise Refused(f"more than {MOST_PACKED_PARTS} packed texts or profiles; save it without")


def check_image(
    image: Image.Image, size: tuple[int, int], full: bool, budget: PixelBudget | None
) -> None:
    """Refuse an image that Pillow has opened if its pixels, with the copies that are made of them,
    take too much. `size` is that of the file, of which a JPEG's decoder may make fewer pixels; they
    are used in `full`, or made smaller first.
    """
    whole, pixels = size[0] * size[1], image.width * image.height
    if whole > MOST_PIXELS:
        raise Refused(too_large(size))
    decoders = {tile[0] for tile in getattr(image, "tile", None) or []}
    if pixels > MOST_SLOW_PIXELS and decoders.intersection(SLOW_DECODERS):
        raise Refused(
            f"{pixels:,} pixels in a form that is read slowly; save it as PNG or with 8 bits"
        )
    plain = image.mode in ("1", "L", "RGB", "YCbCr", "CMYK") and "transparency" not in image.info
    each = (4 if plain else 10) + (7 if full else 0)
    if image.format == "WEBP":
        each = max(16, each + 8)
    progressive = bool(image.info.get("progressive"))
    stored = 6 * whole if progressive else 0
    if "libtiff" in decoders:
        stored += _unpacked_at_once(image)
    if stored + each * pixels > MOST_MEMORY:
        raise Refused(too_large(size))
    if budget is not None:
        budget.spend(whole if progressive else pixels)


def _unpacked_at_once(image: Any) -> int:
    """The bytes of a tile or a strip of a TIFF."""
    tags = image.tag_v2
    bits = tags.get(BITS, (1,))
    depth = sum(bits) if len(bits) > 1 else int(tags.get(SAMPLES, 1)) * bits[0]
    if TILE_WIDTH not in tags:
        rows = min(image.height, int(tags.get(STRIP_ROWS, image.height)))
        return int(rows * image.width * depth) // 8
    tile = int(tags[TILE_WIDTH]) * int(tags[TILE_HEIGHT])
    if tile > max(MOST_TILE_PIXELS, image.width * image.height):
        raise Refused("a TIFF whose tiles are larger than the image; save it again")
    return int(tile * depth) // 8


def too_large(size: tuple[int, int] | None = None) -> str:
    if size is None:
        return f"more than {MOST_PIXELS / 1e6:.0f} million pixels; make it smaller"
    width, height = size
    return f"{width:,} × {height:,} pixels are too many to read safely; make it smaller"
