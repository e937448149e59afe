"""All maps of an output as one page that needs nothing else: no network, no other file."""

import json
from dataclasses import asdict
from importlib import resources
from pathlib import Path

from regard.inspect.heads import PARTS, Head, Part
from regard.inspect.maps import Maps


def save_page(maps: Maps, shown: Head, path: Path) -> None:
    """`shown` is the head that the page opens with. Weights are rounded to thousandths."""
    data = {
        "labels": asdict(maps.labels),
        "maps": {part: thousandths(maps, part) for part in PARTS},
        **asdict(shown),
    }
    # Inside a script only "</script" could end it, and a comment confuse it: no "<" is left.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    page = resources.files("regard.inspect").joinpath("attention.html").read_text("utf-8")
    path.write_text(page.replace("@DATA@", text), encoding="utf-8")


def thousandths(maps: Maps, part: Part) -> list[list[list[list[int]]]]:
    """By layer and head; heads that a layer has lost are left out."""
    whole = (getattr(maps, part) * 1000).round().int()
    counts = maps.heads.get(part) or [whole.size(1)] * len(whole)
    return [layer[:count].tolist() for layer, count in zip(whole, counts, strict=True)]
