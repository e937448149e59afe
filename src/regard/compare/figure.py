"""Scores against source length as a file: the figure that shows why attention was needed."""

from pathlib import Path

from regard.compare.measure import Comparison
from regard.errors import RequestError
from regard.inspect.drawing import save_figure

SHAPES = "o^sDvP*X"


def save_by_length(comparison: Comparison, path: Path) -> None:
    """Save a panel for each metric, with a line for each run, as PNG, SVG or PDF; the ending of the
    name says which.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    panels = len(comparison.curves)
    figure = Figure(figsize=(6.0 * panels, 3.8), layout="constrained")
    for number, metric in enumerate(comparison.curves):
        axes = figure.add_subplot(1, panels, number + 1)
        places = [each.mean_words for each in comparison.bins]
        for shape, run in zip(shapes(comparison), comparison.runs, strict=True):
            axes.plot(
                places,
                run.by_length[metric],
                marker=shape,
                markersize=5,
                label=label(run.name),
                clip_on=False,
            )
        axes.set_ylim(0, None if metric != "exact" else 102)
        axes.set_xlim(0, None)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("words of the source")
        axes.set_ylabel("exact matches, %" if metric == "exact" else metric)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        if number == 0:
            axes.legend(frameon=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_figure(figure, path)
    except OSError as error:
        raise RequestError(
            f"{path}: cannot be written ({error.strerror}); choose another name"
        ) from None


def label(name: str) -> str:
    """A name that matplotlib shows as it is: dollars begin no formula, and no underscore at the
    beginning hides it.
    """
    return " " + name.replace("$", r"\$")


def shapes(comparison: Comparison) -> str:
    return "".join(SHAPES[number % len(SHAPES)] for number in range(len(comparison.runs)))
