"""Series as pictures: fans of intervals, attention to the past, and scores by step and hour."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.inspect.drawing import literal, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from regard.inspect.series import SeriesMaps
    from regard.tasks.forecast import Forecast

BLUE, GREY, ORANGE = "#1b68b0", "#555555", "#d1620a"
COLOURS = {"model": BLUE, "before calibration": ORANGE}
# Series of a picture, and how many horizons of the past are shown before a forecast.
MOST_FANS, PAST = 6, 4
# Times below a chart as wide as the picture, and below one that shares it with another.
TICKS, FEWER_TICKS = 5, 3
LONGEST = 60


def fan(axes: "Axes", forecast: "Forecast", levels: Sequence[float], ticks: int = TICKS) -> None:
    """The end of the past, the median, and intervals that are paler the wider they are."""
    horizon = len(forecast.times)
    kept = min(len(forecast.past), PAST * horizon)
    past, future = np.arange(-kept, 0), np.arange(horizon)
    axes.plot(past, forecast.past[-kept:], color=GREY, linewidth=1)
    for number, percent in enumerate(sorted(levels, reverse=True)):
        low, high = forecast.interval(percent)
        share = 0.15 + 0.5 * number / max(1, len(levels))
        axes.fill_between(
            future, low, high, color=BLUE, alpha=share, linewidth=0, label=f"{percent:g} %"
        )
    axes.plot(future, forecast.median, color=BLUE, linewidth=1.4, label="median")
    axes.axvline(-0.5, color="#bbbbbb", linewidth=0.8)
    times = [*forecast.past_times[len(forecast.past_times) - kept :], *forecast.times]
    places = np.linspace(0, len(times) - 1, min(ticks, len(times))).astype(int)
    axes.set_xticks(places - kept, [times[place] for place in places], fontsize=7)
    axes.set_title(literal(forecast.name[:LONGEST]), fontsize=9)
    axes.tick_params(axis="y", labelsize=7)
    axes.grid(color="#e5e5e5", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def fans(forecasts: Sequence["Forecast"], levels: Sequence[float]) -> "Figure":
    from matplotlib.figure import Figure

    shown = forecasts[:MOST_FANS]
    columns = 1 if len(shown) < 3 else 2
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(8.0 if columns == 1 else 12.0, 3.2 * rows), layout="constrained")
    places = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, forecast in zip(places, shown, strict=False):
        fan(axes, forecast, levels, TICKS if columns == 1 else FEWER_TICKS)
    for axes in places[len(shown) :]:
        axes.axis("off")
    first = figure.axes[0]
    first.legend(fontsize=7, loc="upper left", edgecolor="none", framealpha=0.8)
    return figure


def save_fans(forecasts: Sequence["Forecast"], levels: Sequence[float], path: Path) -> None:
    """Save the fans of the first series as PNG, SVG or PDF, as the ending of the name says."""
    save_figure(fans(forecasts, levels), path)


def fan_svg(forecast: "Forecast", levels: Sequence[float]) -> str:
    """The fan of a series for a notebook."""
    text = io.StringIO()
    fans([forecast], levels).savefig(text, format="svg")
    return text.getvalue().partition("<svg")[1] + text.getvalue().partition("<svg")[2]


def save_series_maps(found: "SeriesMaps", path: Path, layer: int | None, head: int | None) -> None:
    """Save the fan, what hiding each part of the past does, and attention where there is some."""
    from matplotlib.figure import Figure

    looks = bool(found.heads.size)
    figure = Figure(figsize=(9.0, 7.6 if looks else 5.4), layout="constrained")
    heights = [3, 1.6, 2.4] if looks else [3, 1.6]
    axes = figure.subplots(len(heights), 1, gridspec_kw={"height_ratios": heights})
    fan(axes[0], found.forecast, (50, 80, 95))
    axes[0].legend(fontsize=7, loc="upper left", edgecolor="none", framealpha=0.8)
    axes[1].bar(range(len(found.parts)), found.hidden, color=ORANGE)
    axes[1].set_title(
        f"how far the median moves if {found.steps} steps of the past are hidden", fontsize=9
    )
    name_parts(axes[1], found.parts)
    axes[1].spines[["top", "right"]].set_visible(False)
    if looks:
        matrix = found.attention(layer, head)
        image = axes[2].imshow(matrix.weights, cmap="viridis", aspect="auto")
        axes[2].set_title("attention from the future (rows) to the past (columns)", fontsize=9)
        name_parts(axes[2], matrix.columns)
        axes[2].set_yticks(range(len(matrix.rows)), matrix.rows, fontsize=7)
        figure.colorbar(image, ax=axes[2], fraction=0.03)
    save_figure(figure, path)


def name_parts(axes: "Axes", names: Sequence[str]) -> None:
    places = np.unique(np.linspace(0, len(names) - 1, min(2 * TICKS, len(names))).astype(int))
    labels = [names[place] for place in places]
    axes.set_xticks(places, labels, fontsize=6, rotation=20, ha="right")
    axes.tick_params(axis="y", labelsize=7)


def save_scores(details: Mapping[str, Any], path: Path) -> None:
    """Save the error by step of the horizon and by hour of the day, and how many values the
    intervals held, as PNG, SVG or PDF.
    """
    from matplotlib.figure import Figure

    hours = details["error_by_hour"]
    figure = Figure(figsize=(9.0, 6.4), layout="constrained")
    places = figure.subplots(2, 2)
    steps = places[0, 0]
    for name, values in details["error_by_step"].items():
        at = range(1, len(values) + 1)
        steps.plot(at, values, label=name, color=COLOURS.get(name, GREY))
    titled(steps, "mean absolute error by step ahead")
    steps.legend(frameon=False, fontsize=8)
    day = places[0, 1]
    for name, values in hours.items():
        shown = [np.nan if value is None else value for value in values]
        day.plot(range(24), shown, marker="o", markersize=3, color=COLOURS.get(name, GREY))
    titled(day, "mean absolute error by hour of the day")
    if not hours:
        day.axis("off")
    cover(places[1, 0], details["coverage"])
    by_step = places[1, 1]
    for percent, values in details["coverage_by_step"].items():
        (line,) = by_step.plot(range(1, len(values) + 1), values, label=f"{percent} %")
        by_step.axhline(float(percent), color=line.get_color(), linewidth=0.7, linestyle="--")
    titled(by_step, "values within the intervals by step ahead, %")
    by_step.set_ylim(0, 101)
    by_step.legend(frameon=False, fontsize=8)
    save_figure(figure, path)


def cover(axes: "Axes", coverage: Mapping[str, Mapping[str, float]]) -> None:
    """What intervals say, and what they held."""
    axes.plot([0, 100], [0, 100], color="#bbbbbb", linewidth=0.8)
    for name, held in coverage.items():
        axes.plot(
            [float(each) for each in held],
            list(held.values()),
            marker="o",
            color=COLOURS.get(name, GREY),
            label=name,
        )
    titled(axes, "values within an interval, % (held against promised)")
    axes.legend(frameon=False, fontsize=8)


def titled(axes: "Axes", title: str) -> None:
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=7)
    axes.grid(color="#e5e5e5", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
