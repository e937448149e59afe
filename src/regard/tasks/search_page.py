"""The images that a search has found, on one page that needs no network and no other file."""

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from regard.data.image_files import ImageFile, ImageList
from regard.data.images import decode
from regard.files import write_file

if TYPE_CHECKING:
    from regard.tasks.image_index import Hit

SIDE = 240
STYLE = """
:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
ol { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr));
  list-style: none; padding: 0; }
figure { margin: 0; }
img { background: #8883; height: 15rem; object-fit: contain; width: 100%; }
figcaption { font-size: .85rem; overflow-wrap: anywhere; }
"""


def save_page(path: Path, title: str, hits: "Sequence[Hit]", images: ImageList) -> None:
    """Write small copies of the images, the most similar first."""
    numbers = {name: number for number, name in enumerate(images.names)}
    items = []
    for hit in hits:
        entry = images.entries[numbers[hit.name]]
        place = escape(str(entry.path.resolve()) if isinstance(entry, ImageFile) else hit.name)
        items.append(
            f'<li><figure><img alt="{escape(hit.name)}" title="{place}" '
            f'src="{thumbnail(images, numbers[hit.name])}">'
            f"<figcaption>{hit.similarity:.3f} &nbsp; {escape(hit.name)}</figcaption></figure></li>"
        )
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n<ol>\n" + "\n".join(items) + "\n</ol></body></html>\n"
    )
    write_file(path, page.encode())


def thumbnail(images: ImageList, number: int) -> str:
    """A small copy of an image as a data URL."""
    from PIL import Image

    source = images.read(number)
    pixels = decode(source, images.names[number], 3) if isinstance(source, bytes) else source
    if pixels.ndim == 3 and pixels.shape[-1] == 1:
        pixels = pixels[..., 0]
    copy = Image.fromarray(pixels)
    copy.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    copy.save(file, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"
