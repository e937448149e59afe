"""A picture of how reliable chances are."""

from pathlib import Path

from regard.evaluate.reliability import Reliability
from regard.inspect.drawing import save_figure

BLUE, GREY = "#1b68b0", "#bbbbbb"


def save_reliability(found: Reliability, given: str, came: str, path: Path) -> None:
    """Save a picture with what was given from left to right, what came upwards, and the number of
    cases in each bin. The ending of the name chooses PNG, SVG or PDF.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 5.6), layout="constrained")
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, label="perfectly reliable")
    axes.plot(found.chances, found.shares, color=BLUE, marker="o", markersize=4, label="measured")
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel(came)
    axes.set_title(f"Reliability error {found.error:.3f}", fontsize=10)
    axes.legend(frameon=False)
    below.bar(found.chances, found.counts, width=0.06, color=BLUE)
    below.set_ylabel("number")
    below.set_xlabel(given)
    for each in (axes, below):
        each.set_xlim(0, 1)
        each.grid(color="#e5e5e5", linewidth=0.5)
        each.set_axisbelow(True)
        each.spines[["top", "right"]].set_visible(False)
    save_figure(figure, path)
