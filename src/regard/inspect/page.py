"""All maps of an output as one HTML page that needs no network and no other file."""

import json
from dataclasses import asdict, dataclass
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import torch

from regard.inspect.heads.heads import PARTS, Part
from regard.inspect.maps import Maps, Measure, Reading

# The height of the frame in a notebook, in pixels; a larger page is scrolled inside it.
FRAME_HEIGHT = 620


@dataclass(frozen=True)
class Shown:
    """The map that a page opens with: None stands for the mean over heads, or over layers."""

    part: Part
    layer: int | None
    head: int | None
    reading: Reading = "predicts"
    name: str = ""  # what it is called, where that says more than its place


def save_page(maps: Maps, shown: Shown, path: Path, measure: Measure = "weights") -> None:
    """Save the page; it opens with the map `shown`. Weights are rounded to thousandths."""
    path.write_text(page(maps, shown, measure), encoding="utf-8")


def page(maps: Maps, shown: Shown, measure: Measure = "weights") -> str:
    data = {
        "labels": asdict(maps.labels),
        "maps": {part: thousandths(maps, part, measure) for part in PARTS},
        "measure": measure,
        **asdict(shown),
    }
    # "</script" would end the script, and "<!--" would begin a comment, so no "<" is left.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    template = resources.files("regard.inspect").joinpath("attention.html").read_text("utf-8")
    return template.replace("@DATA@", text)


def framed(maps: Maps) -> str | None:
    """The page for a notebook, in a frame that may run its own script but cannot reach anything
    outside; None if there is no attention to show.
    """
    part = next((each for each in reversed(PARTS) if len(getattr(maps, each))), None)
    if part is None:
        return None
    # The last layer but one aligns best; see `Maps.alignment`.
    shown = Shown(part, max(0, len(getattr(maps, part)) - 2), None)
    return (
        f'<iframe srcdoc="{escape(page(maps, shown))}" sandbox="allow-scripts" title="Attention" '
        f'style="width: 100%; height: {FRAME_HEIGHT}px; border: 0"></iframe>'
    )


def thousandths(maps: Maps, part: Part, measure: Measure) -> dict[str, Any]:
    """Weights in thousandths: of each head by layer, without those that were removed; the mean of
    each layer, and of all.
    """
    whole = getattr(maps, part)
    counts = maps.heads.get(part) or [whole.size(1)] * len(whole)

    def of(layer: int | None, head: int | None) -> list[list[int]]:
        found = maps.weights(part, layer, head, measure)
        return (found * 1000).round().to(torch.int).tolist()

    return {
        "layers": [
            [of(layer, head) for head in range(count)] for layer, count in enumerate(counts)
        ],
        "means": [of(layer, None) for layer in range(len(counts))],
        "mean": of(None, None) if counts else [],
    }
