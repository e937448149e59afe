"""Odd and hostile image files, made on the spot."""

import io
import struct
import zlib
from functools import cache
from typing import Any

import numpy as np
from PIL import Image, ImageChops, ImageCms, PngImagePlugin

# Left half dark red, right half light blue, a white top row: any turn or mirror shows.
WIDTH, HEIGHT = 12, 8


def scene() -> Image.Image:
    pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    pixels[:, : WIDTH // 2] = 120, 20, 20
    pixels[:, WIDTH // 2 :] = 60, 160, 240
    pixels[:2] = 255
    return Image.fromarray(pixels)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def chunk(name: bytes, data: bytes) -> bytes:
    body = name + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def png(*chunks: bytes, width: int = 2, height: int = 2, header: bytes = b"") -> bytes:
    head = header or struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunks) + chunk(b"IEND", b"")


def rows(width: int = 2, height: int = 2) -> bytes:
    return chunk(b"IDAT", zlib.compress(bytes((width + 1) * height), 9))


def turned(orientation: int, kind: str) -> bytes:
    """The scene, stored so that its EXIF orientation puts it upright."""
    back = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    image = scene()
    if orientation in back:
        image = image.transpose(back[orientation])
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"quality": 95, "subsampling": 0} if kind == "JPEG" else {}
    return saved(image, kind, exif=exif, **options)


def profile(name: str) -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile(name)).tobytes()  # type: ignore[arg-type]


def wide_profile() -> bytes:
    """sRGB with red and blue exchanged, so that it shows whether a profile is used."""
    data = bytearray(profile("sRGB"))
    count = struct.unpack(">I", data[128:132])[0]
    for at in range(132, 132 + 12 * count, 12):
        name = bytes(data[at : at + 4])
        data[at : at + 4] = {b"rXYZ": b"bXYZ", b"bXYZ": b"rXYZ"}.get(name, name)
    return bytes(data).replace(b"s\0R\0G\0B", b"x\0R\0G\0B").replace(b"sRGB built", b"xRGB built")


def without_adobe(image: Image.Image) -> bytes:
    """A JPEG of inks as they are: what Adobe writes, and Pillow, is turned round, and says so."""
    data = saved(ImageChops.invert(image), "JPEG", quality=97, subsampling=0)
    at = data.index(b"\xff\xee")
    return data[:at] + data[at + 2 + int.from_bytes(data[at + 2 : at + 4]) :]


def with_text(size: int, count: int) -> bytes:
    texts = PngImagePlugin.PngInfo()
    for number in range(count):
        texts.add_text(f"k{number}", "a" * size, zip=True)
    return saved(scene(), "PNG", pnginfo=texts)


def animated(kind: str) -> bytes:
    frames = [scene(), Image.new("RGB", (WIDTH, HEIGHT), "black")]
    return saved(frames[0], kind, save_all=True, append_images=frames[1:], duration=50, loop=0)


def many_scans() -> bytes:
    """A progressive JPEG whose last scan is repeated a thousand times."""
    data = saved(scene(), "JPEG", progressive=True)
    at = data.rindex(b"\xff\xda")
    return data[:at] + data[at:-2] * 1000 + data[-2:]


def packed_zeros(count: int) -> bytes:
    """What zlib makes of zeros, without the time: a block that is packed once is repeated."""
    size = 1 << 20
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(size)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = zlib.compressobj(9, wbits=-15)
    end = rest.compress(bytes(count % size)) + rest.flush()
    return b"\x78\xda" + block * (count // size) + end + struct.pack(">I", count % 65521 << 16 | 1)


def black(side: int, channels: int = 3, depth: int = 8) -> bytes:
    """A PNG of one colour."""
    kind = {1: 0, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", side, side, depth, kind, 0, 0, 0)
    data = packed_zeros(side * (1 + side * channels * depth // 8))
    return png(chunk(b"IDAT", data), header=header)


def packed_tiff(side: int, tile: int = 0) -> bytes:
    """A grey TIFF of one strip, or of one tile."""
    data = packed_zeros((tile or side) ** 2)
    block = [(322, tile), (323, tile), (324, 8), (325, len(data))]
    strip = [(273, 8), (278, side), (279, len(data))]
    tags = [(256, side), (257, side), (258, 8), (259, 8), (262, 1), (277, 1)]
    listed = sorted(tags + (block if tile else strip))
    rows = b"".join(struct.pack("<HHLL", tag, 4, 1, value) for tag, value in listed)
    return (
        b"II*\0" + struct.pack("<L", 8 + len(data)) + data + struct.pack("<H", len(listed)) + rows
    )


def many_frames(kind: str, side: int, count: int = 3000) -> bytes:
    """An animation whose last frame is repeated."""
    frames = [Image.new("L", (side, side)), Image.new("L", (side, side), 255)]
    data = saved(frames[0], kind, save_all=True, append_images=frames[1:], lossless=True)
    at = data.rindex(b"ANMF" if kind == "WEBP" else b"!\xf9")
    end = len(data) if kind == "WEBP" else len(data) - 1
    whole = data[:at] + data[at:end] * count + data[end:]
    return b"RIFF" + struct.pack("<L", len(whole) - 8) + whole[8:] if kind == "WEBP" else whole


def wrong_texts(count: int) -> bytes:
    """A PNG with texts that are unpacked, and thrown away since their checksum is wrong."""
    text = b"k\0\0" + packed_zeros(900_000)[:-4] + b"oops"
    return png(chunk(b"zTXt", text) * count, rows())


@cache
def bombs() -> dict[str, bytes]:
    """Files of less than 3 MB that unpack to very much."""
    return {
        "largest.png": black(7000),
        "deep.png": black(7000, depth=16),
        "clear.png": black(4300, 4),
        "too-large.png": black(9000),
        "huge.png": black(50_000, 1),
        "texts.png": with_text(900_000, 30),
        "wrong-texts.png": wrong_texts(2500),
        "frames.gif": many_frames("GIF", 64),
        "frames.webp": many_frames("WEBP", 3000),
        "tile.tif": packed_tiff(16, tile=40_000),
        "strip.tif": packed_tiff(7000),
        "largest.jpg": saved(Image.new("L", (8900, 8900)), "JPEG"),
        "progressive.jpg": saved(Image.new("RGB", (5400, 5400)), "JPEG", progressive=True),
        "many-scans.jpg": many_scans(),
    }


def preview_of_raw() -> bytes:
    """A TIFF that says it is a small preview, as the raw files of cameras begin."""
    return saved(scene(), "TIFF", tiffinfo={254: 1})


def readable() -> dict[str, tuple[bytes, int]]:
    """Files that are read as the scene, and how far a pixel may be away."""
    image = scene()
    palette = image.quantize(8)
    clear = image.convert("RGBA")
    hole = np.array(clear)
    hole[:2] = 0, 0, 0, 0  # transparent where the scene is white
    found = {
        "wrong-suffix.jpg": (saved(image, "PNG"), 0),
        "lossless.webp": (saved(image, "WEBP", lossless=True), 0),
        "plain.bmp": (saved(image, "BMP"), 0),
        "plain.ppm": (saved(image, "PPM"), 0),
        "plain.tif": (saved(image, "TIFF"), 0),
        "lzw.tif": (saved(image, "TIFF", compression="tiff_lzw"), 0),
        "palette.png": (saved(palette, "PNG"), 4),
        "palette.gif": (saved(palette, "GIF"), 4),
        "palette.bmp": (saved(palette, "BMP"), 4),
        "clear.png": (saved(Image.fromarray(hole), "PNG"), 0),
        "clear.webp": (saved(Image.fromarray(hole), "WEBP", lossless=True, exact=True), 0),
        "clear.tif": (saved(Image.fromarray(hole), "TIFF"), 0),
        "clear-palette.png": (saved(Image.fromarray(hole).quantize(8), "PNG"), 4),
        "animated.gif": (animated("GIF"), 4),
        "animated.png": (animated("PNG"), 0),
        "animated.webp": (saved(image, "WEBP", lossless=True, save_all=True), 0),
        "pages.tif": (animated("TIFF"), 0),
        "progressive.jpg": (saved(image, "JPEG", progressive=True, quality=95, subsampling=0), 16),
        "cmyk.jpg": (saved(image.convert("CMYK"), "JPEG", quality=97, subsampling=0), 16),
        "cmyk-plain.jpg": (without_adobe(image.convert("CMYK")), 16),
        "cmyk.tif": (saved(image.convert("CMYK"), "TIFF"), 2),
        "srgb.png": (saved(image, "PNG", icc_profile=profile("sRGB")), 0),
        "bad-profile.png": (saved(image, "PNG", icc_profile=b"no profile"), 0),
        "wrong-profile.png": (saved(image, "PNG", icc_profile=profile("LAB")), 0),
        "after-end.jpg": (
            saved(image, "JPEG", quality=97, subsampling=0) + b"<html>" + bytes(99),
            16,
        ),
        "bad-exif.png": (saved(image, "PNG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff"), 0),
        "orientation-99.png": (turned(99, "PNG"), 0),
        "text.png": (with_text(1000, 3), 0),
    }
    for orientation in range(1, 9):
        found[f"turned-{orientation}.jpg"] = turned(orientation, "JPEG"), 16
        found[f"turned-{orientation}.png"] = turned(orientation, "PNG"), 0
    found["turned-6.tif"] = turned(6, "TIFF"), 0
    found["turned-6.webp"] = (
        saved(scene().transpose(Image.Transpose.ROTATE_90), "WEBP", lossless=True, exif=_exif(6)),
        0,
    )
    return found


def _exif(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def grey() -> dict[str, bytes]:
    """Files that are read as the grey scene."""
    level = np.array(scene().convert("L"))
    image = Image.fromarray(level)
    wide = (level.astype(np.uint16) << 8) + 17
    return {
        "grey.png": saved(image, "PNG"),
        "grey.jpg": saved(image, "JPEG", quality=98),
        "grey-alpha.png": saved(image.convert("LA"), "PNG"),
        "grey-16.png": saved(Image.fromarray(wide), "PNG"),
        "grey-16.tif": saved(Image.fromarray(wide), "TIFF"),
        "grey-16.pgm": b"P5 12 8 65535\n" + wide.astype(">u2").tobytes(),
        "grey-32.tif": saved(Image.fromarray(wide.astype(np.int32)), "TIFF"),
        "grey-32-small.tif": saved(Image.fromarray(level.astype(np.int32)), "TIFF"),
        "fractions.tif": saved(Image.fromarray((level / 255).astype(np.float32)), "TIFF"),
        "numbers.tif": saved(Image.fromarray(level.astype(np.float32)), "TIFF"),
        "plain.pgm": b"P2 12 8 255\n" + " ".join(map(str, level.ravel())).encode(),
    }


@cache
def refused() -> dict[str, tuple[bytes, str]]:
    """Files that are not read, and words of the sentence that says why."""
    image = scene()
    jpeg, whole = saved(image, "JPEG"), saved(image.resize((200, 200)), "PNG")
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    noisy = saved(Image.fromarray(noise), "JPEG")
    minus = Image.fromarray(np.array([[-5.0, 3.0]], np.float32))
    broken = bytearray(whole)
    broken[60] ^= 0xFF
    return {
        "empty.jpg": (b"", "empty"),
        "one-byte.jpg": (b"\xff", "not an image"),
        "zeros.jpg": (bytes(5000), "zeros"),
        "text.jpg": (b"hello, this is no image", "not an image"),
        "page.jpg": (b"<!DOCTYPE html><html><body>404</body></html>", "web page"),
        "pointer.jpg": (b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
        "archive.jpg": (b"PK\x03\x04" + bytes(30), "unpack"),
        "packed.jpg.gz": (b"\x1f\x8b" + bytes(30), "unpack"),
        "cut-header.jpg": (jpeg[:20], "cut off|damaged"),
        "cut.jpg": (noisy[: len(noisy) // 2], "cut off"),
        "cut.png": (whole[: len(whole) // 2], "cut off|damaged"),
        "cut.gif": (saved(image, "GIF")[:30], "cut off|damaged"),
        "cut.bmp": (saved(image, "BMP")[:100], "cut off|damaged"),
        "cut.tif": (saved(image, "TIFF")[:100], "cut off|damaged"),
        "cut.webp": (saved(image, "WEBP")[:50], "cut off|damaged"),
        "cut.ppm": (saved(image, "PPM")[:40], "cut off|damaged"),
        "signature-only.png": (b"\x89PNG\r\n\x1a\n", "damaged|cut off"),
        "checksum.png": (bytes(broken), "damaged"),
        "no-rows.png": (png(), "damaged|cut off"),
        "no-width.png": (png(rows(), width=0), "damaged"),
        "odd-header.png": (png(rows(), header=b"\0" * 5), "damaged|cut off"),
        "bomb.png": (png(rows(20_000, 20_000), width=20_000, height=20_000), "pixels"),
        "huge.png": (png(rows(), width=2**31 - 1, height=2**31 - 1), "pixels"),
        "bomb.gif": (b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\2\0", "pixels"),
        "bomb.bmp": (
            b"BM"
            + struct.pack("<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, 60_000, 60_000, 1, 24, *([0] * 6)),
            "pixels",
        ),
        "bomb.ppm": (b"P6 60000 60000 255\n", "pixels"),
        "slow.ppm": (b"P3 2000 2000 255\n" + b"1 " * 100, "slowly"),
        "text-bomb.png": (with_text(5_000_000, 1), "text"),
        "text-bombs.png": (with_text(900_000, 90), "text"),
        "wrong-texts.png": (wrong_texts(99), "packed texts"),
        "many-scans.jpg": (many_scans(), "scans"),
        "tile.tif": (packed_tiff(16, tile=5000), "tiles are larger"),
        "strip.tif": (packed_tiff(7000), "too many to read safely"),
        "minus.tif": (saved(minus, "TIFF"), "from -5 to 3"),
        "nan.tif": (saved(Image.fromarray(np.full((2, 2), np.nan, np.float32)), "TIFF"), "nan"),
        "raw.nef": (preview_of_raw(), "camera raw"),
        "photo.heic": (b"\0\0\0\x18ftypheic" + bytes(40), "heif-convert"),
        "photo.heif": (b"\0\0\0\x18ftypmif1" + bytes(40), "HEIC"),
        "photo.avif": (b"\0\0\0\x1cftypavif" + bytes(40), "avifdec"),
        "film.mp4": (b"\0\0\0\x18ftypisom" + bytes(40), "film"),
        "page.pdf": (b"%PDF-1.7\n", "PDF"),
        "page.eps": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "PostScript"),
        "layers.psd": (b"8BPS\0\1" + bytes(40), "Photoshop"),
        "drawing.svg": (b'<?xml version="1.0"?>\n<svg width="9"/>', "save it as PNG"),
        "icon.ico": (saved(image, "ICO"), "icon"),
        "photo.jp2": (b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(30), "JPEG 2000"),
        "array.npy": (b"\x93NUMPY\x01\0", "npz"),
    }
