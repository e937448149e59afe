"""How similar each of a few images is to each of a few texts, as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.inspect.drawing import literal, save_figure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
