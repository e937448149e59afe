"""What an image file is, by its first bytes, and what to do with one that is not read."""

from __future__ import annotations

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM")
# Files that hold an image, read or not, by their endings.
READ_ENDINGS = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".apng", ".gif", ".webp", ".bmp", ".dib"),
    *(".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".pnm"),
)
OTHER_ENDINGS = (
    *(".heic", ".heif", ".avif", ".psd", ".pdf", ".eps", ".ps", ".ai", ".svg", ".ico", ".icns"),
    *(".jp2", ".j2k", ".jxl", ".jxr", ".tga", ".exr", ".hdr", ".dds", ".qoi", ".xcf"),
    *(".raw", ".dng", ".cr2", ".cr3", ".nef", ".arw", ".orf", ".rw2", ".raf", ".dcm"),
)

_BEGINNINGS = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"BM": "BMP",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"II+\0": "TIFF",
    b"MM\0+": "TIFF",
    b"8BPS": "Photoshop",
    b"%PDF-": "PDF",
    b"%!PS": "PostScript",
    b"\xc5\xd0\xd3\xc6": "PostScript",
    b"\0\0\0\x0cjP  ": "JPEG 2000",
    b"\xff\x4f\xff\x51": "JPEG 2000",
    b"\xff\x0a": "JPEG XL",
    b"\0\0\0\x0cJXL ": "JPEG XL",
    b"\0\0\x01\0": "Windows icon",
    b"icns": "Macintosh icon",
    b"II\xbc\x01": "JPEG XR",
    b"IIRO": "camera raw",
    b"IIU\0": "camera raw",
    b"FUJIFILM": "camera raw",
    b"gimp xcf": "GIMP",
    b"v/1\x01": "OpenEXR",
    b"PK\x03\x04": "zip",
    b"\x1f\x8b": "gzip",
    b"Rar!": "archive",
    b"7z\xbc\xaf": "archive",
    b"\x93NUMPY": "NumPy",
    b"version https://git-lfs": "pointer of Git LFS",
}
_BRANDS = {
    **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1"), "HEIC"),
    **dict.fromkeys((b"avif", b"avis"), "AVIF"),
    b"crx ": "camera raw",
}
_CONVERT = "convert it to JPEG or PNG"
_ADVICE = {
    "HEIC": "convert it, on a Mac with: sips -s format jpeg a.heic --out a.jpg, elsewhere with: "
    "heif-convert a.heic a.jpg; a phone can be set to take JPEG",
    "AVIF": "convert it with: avifdec a.avif a.png",
    "PDF": "a document; save its page as PNG",
    "PostScript": "a document; save its page as PNG",
    "SVG": "a drawing without pixels; save it as PNG",
    "zip": "unpack it, and give the folder",
    "gzip": "unpack it, and give the image",
    "archive": "unpack it, and give the folder",
    "NumPy": "save the array in a .npz file",
    "pointer of Git LFS": "fetch the image with: git lfs pull",
}


def kind_of_image(data: bytes) -> str:
    """The format of an image by its first bytes, Pillow's name where Pillow may read it; "" for
    bytes that nobody knows.
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    if data[4:8] == b"ftyp":
        brands = [data[8:12], *(data[at : at + 4] for at in range(16, 40, 4))]
        return next((_BRANDS[each] for each in brands if each in _BRANDS), "film")
    for beginning, kind in _BEGINNINGS.items():
        if data.startswith(beginning):
            return "camera raw" if kind == "TIFF" and data[8:10] == b"CR" else kind
    if len(data) > 2 and data[:1] == b"P" and data[1:2] in b"123456fF" and data[2:3].isspace():
        return "PPM"
    text = data[:1000].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if text.startswith(b"<svg") or (text.startswith(b"<?xml") and b"<svg" in text):
        return "SVG"
    if text.startswith((b"<!doctype", b"<html", b"<head", b"<body", b"<?xml")):
        return "web page"
    return ""


def conversion_of(data: bytes, kind: str) -> str:
    """Why a file is not read, and what to do with it."""
    if not data:
        return "the file is empty; fetch it again, or remove it"
    if kind == "web page":
        return "this is a web page, as a failed download leaves; fetch the image again"
    if kind:
        article = "an" if kind[0] in "AO" or kind == "SVG" else "a"
        return f"this is {article} {kind} file, which is not read; {_ADVICE.get(kind, _CONVERT)}"
    if not any(data[:64]):
        return "the file begins with zeros, as a failed copy leaves; fetch it again, or remove it"
    known = ", ".join(FORMATS)
    return f"not an image (it begins with {data[:8]!r}); give one of {known}"
