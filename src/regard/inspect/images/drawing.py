"""Maps over an image: in the terminal, and as a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.inspect.drawing import literal, save_figure
from regard.inspect.figures import SHADES, colour
from regard.inspect.images.maps import ImageMaps, Map

if TYPE_CHECKING:
    from rich.text import Text

# A map in the terminal has at most this many rows and columns of half blocks.
MOST_CELLS = 32
# Layers of heads in a picture; more could not be told apart.
MOST_LAYERS, MOST_HEADS = 2, 8
ABOVE, BELOW = (209, 98, 10), (27, 104, 176)
MOST_OPAQUE = 0.85


def terminal_maps(found: ImageMaps) -> "Text":
    """The image, the map that speaks for the label, and what hiding patches does, side by side in
    colours; two rows of pixels are one line of text.
    """
    from rich.text import Text

    size = min(MOST_CELLS, len(found.pixels))
    at = np.arange(size) * len(found.pixels) // size
    pixels = found.pixels[at][:, at].repeat(3 // found.pixels.shape[-1], -1)
    sides: list[tuple[str, Any]] = [("image", [[hex_of(each) for each in row] for row in pixels])]
    if main := main_map(found):
        name, values = main
        sides.append((name, coloured(values, size)))
    sides.append(("patches hidden", coloured(found.hidden, size)))
    picture = Text()
    picture.append("  ".join(name[:size].ljust(size) for name, _ in sides) + "\n", style="bold")
    for upper in range(0, size, 2):
        for number, (_, table) in enumerate(sides):
            picture.append("  " if number else "")
            below = table[upper + 1] if upper + 1 < size else ["default"] * size
            for top, bottom in zip(table[upper], below, strict=True):
                picture.append("▀", style=f"{top} on {bottom}")
        picture.append("\n")
    return picture


def plain_map(values: Map) -> str:
    """The same of one map where there are no colours: the smallest numbers are blank, the largest
    black.
    """
    low, most = float(values.min()), len(SHADES) - 1
    spread = float(values.max()) - low or 1.0
    return "".join(
        "".join(2 * SHADES[round((float(each) - low) / spread * most)] for each in row).rstrip()
        + "\n"
        for row in values
    )


def main_map(found: ImageMaps) -> tuple[str, Map] | None:
    """The map that is about the label, where the model has one."""
    return list(found.maps.items())[-1] if found.maps else None


def hex_of(rgb: Any) -> str:
    return "#" + "".join(f"{each:02x}" for each in rgb)


def coloured(values: Map, size: int) -> list[list[str]]:
    """[size][size] colours: near-white at 0, orange above and blue below it."""
    largest = float(np.abs(values).max()) or 1.0
    rows, columns = (np.arange(size) * each // size for each in values.shape)
    return [[colour(float(each) / largest) for each in row] for row in values[rows][:, columns]]


def save_maps(found: ImageMaps, path: Path) -> None:
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
    show_image(axes[0, 0], found, "image")
    for place, (name, values) in enumerate(found.maps.items(), 1):
        note = f"{name}\nagrees {found.agreement[name]:+.2f} with hiding"
        # The rollout is nowhere near 0: only where it is larger says something.
        overlay(axes[0, place], found, values - values.min(), note)
    note = f"patches hidden\nup to {signed_points(found.hidden)} points"
    overlay(axes[0, len(found.maps) + 1], found, found.hidden, note)
    for row, layer in enumerate(layers, 1):
        number = len(found.heads) - len(layers) + row - 1
        for head, values in enumerate(layer[:columns]):
            overlay(axes[row, head], found, values, f"layer {number}, head {head}")
    save_figure(figure, path)


def signed_points(hidden: Map) -> str:
    """The largest change of the probability when a patch is hidden, in percentage points."""
    return f"{-100 * float(hidden.flat[np.abs(hidden).argmax()]):+.1f}"


def show_image(axes: Any, found: ImageMaps, note: str, grey: bool = False) -> None:
    size = len(found.pixels)
    shown: Any = found.pixels
    if grey or shown.shape[-1] == 1:
        # Paler, so that a map over it can be seen.
        shown = shown.astype(np.float64).mean(-1)
        shown = 115 + shown * 0.55 if grey else shown
    axes.imshow(shown, cmap="gray", vmin=0, vmax=255, extent=(0, size, size, 0))
    axes.set_title(note, fontsize=8)


def overlay(axes: Any, found: ImageMaps, values: Map, note: str) -> None:
    """A map over the image in pale grey: orange where it is above 0, blue below, and the clearer,
    the further.
    """
    size = len(found.pixels)
    show_image(axes, found, note, grey=True)
    largest = float(np.abs(values).max()) or 1.0
    inks = np.where((values < 0)[..., None], BELOW, ABOVE) / 255
    clearness = MOST_OPAQUE * np.abs(values) / largest
    axes.imshow(np.dstack((inks, clearness)), extent=(0, size, size, 0), interpolation="nearest")
