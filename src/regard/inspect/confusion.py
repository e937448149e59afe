"""A confusion matrix of labels, as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.inspect.drawing import literal, save_figure

# Up to this many labels, numbers are written into the cells; beyond it they could not be read.
MOST_NUMBERED = 25


def save_confusion(
    labels: Sequence[str],
    table: Sequence[Sequence[int]],
    path: Path,
    images: Mapping[tuple[int, int], Any] | None = None,
) -> None:
    """Save a picture with a row for each true label and a column for each predicted label. Shades
    are shares of the row; a cell may show one of its images, [H, W, C]. The ending of the name
    chooses PNG, SVG or PDF.
    """
    from matplotlib.figure import Figure

    shares = [[count / max(1, sum(row)) for count in row] for row in table]
    side = 1.8 + (0.75 if images else 0.5) * len(labels)
    figure = Figure(figsize=(side + 0.6, side))
    axes = figure.add_subplot()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    names = [literal(label) for label in labels]
    axes.set_xticks(range(len(labels)), names, rotation=45, ha="left")
    axes.set_yticks(range(len(labels)), names)
    axes.set_xlabel("found")
    axes.set_ylabel("true")
    axes.tick_params(length=0)
    axes.spines[:].set_color("#cccccc")
    for (row, column), pixels in (images or {}).items():
        shown = pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels
        axes.imshow(
            shown,
            cmap="gray",
            extent=(column - 0.42, column + 0.42, row + 0.42, row - 0.42),
            vmin=0,
            vmax=255,
            zorder=2,
        )
    axes.set_xlim(-0.5, len(labels) - 0.5)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    if len(labels) <= MOST_NUMBERED:
        write_numbers(axes, table, shares, on_images=bool(images))
    save_figure(figure, path, bbox_inches="tight")


def write_numbers(
    axes: Any, table: Sequence[Sequence[int]], shares: list[list[float]], on_images: bool
) -> None:
    """The number in each cell that is not empty: in the middle, or in a corner of its image."""
    for row, (counts, parts) in enumerate(zip(table, shares, strict=True)):
        for column, (count, share) in enumerate(zip(counts, parts, strict=True)):
            if not count:
                continue
            style: dict[str, Any] = {"fontsize": 7, "zorder": 3}
            if on_images:
                box = {"boxstyle": "square,pad=0.15", "facecolor": "white", "linewidth": 0}
                style |= {"ha": "right", "va": "bottom", "color": "#333333", "bbox": box}
                axes.text(column + 0.42, row + 0.42, f"{count:,}", **style)
            else:
                style |= {"ha": "center", "va": "center"}
                style["color"] = "white" if share > 0.5 else "#333333"
                axes.text(column, row, f"{count:,}", **style)
