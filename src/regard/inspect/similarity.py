"""How similar images are to texts, and which of them are confused, as pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.inspect.drawing import literal, save_figure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from regard.inspect.matching import Confusions

# Above this, numbers could not be read.
MOST_NUMBERED = 25
LONGEST = 48


def save_similarity(
    pixels: "NDArray[np.uint8]",
    names: Sequence[str],
    texts: Sequence[str],
    similarity: Sequence[Sequence[float]],
    path: Path,
) -> None:
    """Save a picture with a row for each text and a column for each image, [N, H, W, C], which
    stands above it. The ending of the name chooses PNG, SVG or PDF.
    """
    from matplotlib.figure import Figure

    columns, rows = len(names), len(texts)
    table = [[similarity[image][text] for image in range(columns)] for text in range(rows)]
    longest = min(LONGEST, max(map(len, texts)))
    figure = Figure(figsize=(0.6 + 0.09 * longest + 0.95 * columns, 1.4 + 0.42 * rows))
    above, below = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": [0.95, 0.42 * rows], "hspace": 0.02}
    )
    for place, image in enumerate(pixels):
        shown = image.squeeze(-1) if image.shape[-1] == 1 else image
        box = (place - 0.46, place + 0.46, 0.46, -0.46)
        above.imshow(shown, cmap="gray", extent=box, vmin=0, vmax=255, aspect="auto")
    above.set_ylim(0.5, -0.5)
    above.axis("off")
    for place, name in enumerate(names):
        above.text(place, -0.56, literal(Path(name).name[-14:]), ha="center", fontsize=6)
    low, high = min(map(min, table)), max(map(max, table))
    below.imshow(table, cmap="viridis", vmin=low, vmax=high, aspect="auto")
    below.set_xlim(-0.5, columns - 0.5)
    below.set_xticks([])
    below.set_yticks(range(rows), [literal(shortened(text)) for text in texts], fontsize=8)
    below.tick_params(length=0)
    if max(columns, rows) <= MOST_NUMBERED:
        for row, values in enumerate(table):
            best = max(values)
            for column, value in enumerate(values):
                dark = value < low + 0.6 * (high - low)
                below.text(
                    column,
                    row,
                    f"{value:.2f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    fontweight="bold" if value == best else "normal",
                    color="white" if dark else "black",
                )
    save_figure(figure, path, bbox_inches="tight")


def shortened(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def save_confusions(
    found: "Confusions",
    pixels: "Mapping[int, NDArray[np.uint8]]",
    texts: Sequence[str],
    path: Path,
) -> None:
    """Save a picture with a row for each confusion: on the left images with their own text and the
    one that fits better, on the right texts with their own image and the one that fits better. The
    ending of the name chooses PNG, SVG or PDF.
    """
    from matplotlib.figure import Figure

    rows = max(len(found.to_texts), len(found.to_images), 1)
    figure = Figure(figsize=(13, 0.5 + 1.25 * rows), layout="constrained")
    axes = figure.subplots(rows, 5, squeeze=False, width_ratios=(1, 3.6, 3.2, 1, 1))
    for place in axes.flat:
        place.axis("off")
    for row, each in enumerate(found.to_texts):
        show_pixels(axes[row, 0], pixels[each.query])
        write(axes[row, 1], 0.66, f"its text  {each.right_similarity:.2f}", texts[each.right])
        write(axes[row, 1], 0.22, f"fits better  {each.wrong_similarity:.2f}", texts[each.wrong])
    for row, each in enumerate(found.to_images):
        write(axes[row, 2], 0.44, "text", texts[each.query])
        show_pixels(axes[row, 3], pixels[each.right], f"its image {each.right_similarity:.2f}")
        show_pixels(axes[row, 4], pixels[each.wrong], f"fits better {each.wrong_similarity:.2f}")
    if not any(found):
        write(axes[0, 1], 0.44, "", "Nothing is confused.")
    save_figure(figure, path)


def show_pixels(axes: Any, pixels: "NDArray[np.uint8]", title: str = "") -> None:
    shown = pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels
    axes.imshow(shown, cmap="gray", vmin=0, vmax=255)
    axes.set_title(title, fontsize=7)


def write(axes: Any, height: float, name: str, text: str) -> None:
    """A text with its name above it, in the middle of a row."""
    style = {"transform": axes.transAxes, "va": "center", "fontsize": 8}
    axes.text(0.02, height + 0.16, name, color="#666666", **style)
    axes.text(0.02, height - 0.02, literal(shortened(text, 60)), **style)
