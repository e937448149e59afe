"""Maps over an image: in the terminal, and as a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.inspect.drawing import literal, save_figure
from regard.inspect.figures import SHADES, colour
from regard.inspect.images.hiding import Pixels
from regard.inspect.images.looked import Panel

if TYPE_CHECKING:
    from rich.text import Text

    from regard.inspect.images.maps import ImageMaps

# A map in the terminal has at most this many rows and columns of half blocks; more than a few maps
# are smaller.
MOST_CELLS, FEW_PANELS = 32, 4
GAP = 2
# Words of a picture beside each other.
MOST_WORDS = 8
# Layers of heads in a picture; more could not be told apart.
MOST_LAYERS, MOST_HEADS = 2, 8
ABOVE, BELOW = (209, 98, 10), (27, 104, 176)
MOST_OPAQUE = 0.85


def terminal_maps(
    pixels: Pixels, panels: Sequence[Panel], width: int, one_scale: bool = False
) -> "Text":
    """The image and maps over it side by side in colours, as many as fit into `width` letters; two
    rows of pixels are one line of text. Maps may share one scale of colours.
    """
    from rich.text import Text

    size = min(MOST_CELLS if len(panels) <= FEW_PANELS else MOST_CELLS // 2, len(pixels))
    at = np.arange(size) * len(pixels) // size
    small = pixels[at][:, at].repeat(3 // pixels.shape[-1], -1)
    most = max((float(np.abs(values).max()) for _, values in panels), default=0.0)
    blocks: list[tuple[str, Any]] = [("image", [[hex_of(each) for each in row] for row in small])]
    blocks += [
        (name, coloured(values, size, most if one_scale else None)) for name, values in panels
    ]
    beside = max(1, (width + GAP) // (size + GAP))
    picture = Text()
    for start in range(0, len(blocks), beside):
        part = blocks[start : start + beside]
        names = (" " * GAP).join(name[:size].ljust(size) for name, _ in part)
        picture.append(names + "\n", style="bold")
        for upper in range(0, size, 2):
            for number, (_, table) in enumerate(part):
                picture.append(" " * GAP if number else "")
                below = table[upper + 1] if upper + 1 < size else ["default"] * size
                for top, bottom in zip(table[upper], below, strict=True):
                    picture.append("▀", style=f"{top} on {bottom}")
            picture.append("\n")
    return picture


def plain_maps(panels: Sequence[Panel], width: int, one_scale: bool = False) -> str:
    """The same where there are no colours: the smallest numbers are blank, the largest black."""
    ends = [(float(values.min()), float(values.max())) for _, values in panels]
    if one_scale:
        ends = [(min(low for low, _ in ends), max(high for _, high in ends))] * len(ends)
    blocks = [
        [name, *shaded(values, *end)] for (name, values), end in zip(panels, ends, strict=True)
    ]
    wide = max((len(line) for block in blocks for line in block), default=0)
    high = max(map(len, blocks), default=0)
    beside = max(1, (width + GAP) // (wide + GAP))
    lines = []
    for start in range(0, len(blocks), beside):
        for at in range(high):
            part = (
                block[at] if at < len(block) else "" for block in blocks[start : start + beside]
            )
            lines.append((" " * GAP).join(each.ljust(wide) for each in part).rstrip() + "\n")
    return "".join(lines)


def shaded(values: NDArray[Any], low: float, high: float) -> list[str]:
    """A line for each row; a place is two letters wide."""
    most, spread = len(SHADES) - 1, high - low or 1.0
    return [
        "".join(2 * SHADES[round((float(each) - low) / spread * most)] for each in row)
        for row in values
    ]


def hex_of(rgb: Any) -> str:
    return "#" + "".join(f"{each:02x}" for each in rgb)


def coloured(values: NDArray[Any], size: int, largest: float | None = None) -> list[list[str]]:
    """[size][size] colours: near-white at 0, orange above and blue below it."""
    largest = largest or float(np.abs(values).max()) or 1.0
    rows, columns = (np.arange(size) * each // size for each in values.shape)
    return [[colour(float(each) / largest) for each in row] for row in values[rows][:, columns]]


def save_maps(found: "ImageMaps", path: Path) -> None:
    """Save the image, its maps, the hidden patches, and the heads of the last layers as PNG, SVG or
    PDF, as the ending of the name says.
    """
    from matplotlib.figure import Figure

    layers = found.heads[-MOST_LAYERS:]
    top = 2 + len(found.maps)
    columns = max([top, *(min(MOST_HEADS, len(each)) for each in layers)])
    rows = 1 + len(layers)
    figure = Figure(figsize=(2.1 * columns + 0.4, 2.35 * rows + 0.35), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for each in axes.flat:
        each.axis("off")
    likeliest = next(iter(found.probabilities))
    title = f"{literal(likeliest)} {found.probabilities[likeliest]:.0%}"
    if found.label != likeliest:
        title += f"; maps for {literal(found.label)} {found.probability:.0%}"
    figure.suptitle(title, fontsize=11)
    show_image(axes[0, 0], found.pixels, "image")
    for place, (name, values) in enumerate(found.maps.items(), 1):
        note = f"{name}\nagrees {found.agreement[name]:+.2f} with hiding"
        # The rollout is nowhere near 0: only where it is larger says something.
        overlay(axes[0, place], found.pixels, values - values.min(), note)
    note = f"patches hidden\nup to {signed_points(found.hidden)} points"
    overlay(axes[0, len(found.maps) + 1], found.pixels, found.hidden, note)
    for row, layer in enumerate(layers, 1):
        number = len(found.heads) - len(layers) + row - 1
        for head, values in enumerate(layer[:columns]):
            overlay(axes[row, head], found.pixels, values, f"layer {number}, head {head}")
    save_figure(figure, path)


def signed_points(hidden: NDArray[Any]) -> str:
    """The largest change of the probability when a patch is hidden, in percentage points."""
    return f"{-100 * float(hidden.flat[np.abs(hidden).argmax()]):+.1f}"


def show_image(axes: Any, pixels: Pixels, note: str, grey: bool = False) -> None:
    size = len(pixels)
    shown: Any = pixels
    if grey or shown.shape[-1] == 1:
        # Paler, so that a map over it can be seen.
        shown = shown.astype(np.float64).mean(-1)
        shown = 115 + shown * 0.55 if grey else shown
    axes.imshow(shown, cmap="gray", vmin=0, vmax=255, extent=(0, size, size, 0))
    axes.set_title(note, fontsize=8)


def overlay(
    axes: Any, pixels: Pixels, values: NDArray[Any], note: str, largest: float | None = None
) -> None:
    """A map over the image in pale grey: orange where it is above 0, blue below, and the clearer,
    the further, up to the largest of all.
    """
    size = len(pixels)
    show_image(axes, pixels, note, grey=True)
    largest = largest or float(np.abs(values).max()) or 1.0
    inks = np.where((values < 0)[..., None], BELOW, ABOVE) / 255
    clearness = MOST_OPAQUE * np.abs(values) / largest
    axes.imshow(np.dstack((inks, clearness)), extent=(0, size, size, 0), interpolation="nearest")


def save_word_rows(
    pixels: Pixels,
    words: Sequence[str],
    rows: Mapping[str, NDArray[Any]],
    path: Path,
    title: str = "",
    alone: int = 0,
) -> None:
    """Save a picture with a column for each word, under it a map of each kind over the image,
    [words, rows, columns]. All maps of a kind share one scale, but for the first `alone` ones.
    Words that do not fit beside each other follow below.
    """
    from matplotlib.figure import Figure

    lines = -(-len(words) // MOST_WORDS)
    beside = -(-len(words) // lines)
    high, wide = lines * len(rows), beside + 1
    figure = Figure(figsize=(1.45 * wide, 1.62 * high + 0.35), layout="constrained")
    axes = figure.subplots(high, wide, squeeze=False)
    for each in axes.flat:
        each.axis("off")
    if title:
        figure.suptitle(literal(title), fontsize=11)
    show_image(axes[0, 0], pixels, "")
    for kind, (name, maps) in enumerate(rows.items()):
        largest = float(np.abs(maps[alone:]).max()) or 1.0
        for line in range(lines):
            row = line * len(rows) + kind
            if row:
                style = {"ha": "center", "va": "center", "fontsize": 9, "color": "#555555"}
                axes[row, 0].text(0.5, 0.5, name, transform=axes[row, 0].transAxes, **style)
            else:
                axes[row, 0].set_title(name, fontsize=9, color="#555555")
            for place, at in enumerate(range(line * beside, min((line + 1) * beside, len(words)))):
                note = "" if kind else literal(words[at])
                scale = None if at < alone else largest
                overlay(axes[row, place + 1], pixels, maps[at], note, scale)
    save_figure(figure, path)
