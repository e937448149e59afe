"""A confusion matrix of labels, as a picture."""

from collections.abc import Sequence
from pathlib import Path

from regard.inspect.drawing import literal, save_figure

# Up to this many labels, numbers are written into the cells; beyond it they could not be read.
MOST_NUMBERED = 25


def save_confusion(labels: Sequence[str], table: Sequence[Sequence[int]], path: Path) -> None:
    """Save a picture with a row for each true label and a column for each predicted label. Shades
    are shares of the row. The ending of the name chooses PNG, SVG or PDF.
    """
    from matplotlib.figure import Figure

    shares = [[count / max(1, sum(row)) for count in row] for row in table]
    side = 1.8 + 0.5 * len(labels)
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
    if len(labels) <= MOST_NUMBERED:
        for row, (counts, parts) in enumerate(zip(table, shares, strict=True)):
            for column, (count, share) in enumerate(zip(counts, parts, strict=True)):
                colour = "white" if share > 0.5 else "#333333"
                if count:
                    axes.text(
                        column,
                        row,
                        f"{count:,}",
                        ha="center",
                        va="center",
                        fontsize=7,
                        color=colour,
                    )
    save_figure(figure, path, bbox_inches="tight")
