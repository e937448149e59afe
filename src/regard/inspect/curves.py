"""Curves with a logarithmic vertical axis, in the terminal and as files."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.inspect.drawing import literal, save_figure

if TYPE_CHECKING:
    from rich.text import Text

MARKS = "●▲■◆○△□◇"
COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")
WIDTH, HEIGHT = 60, 14
# Curves end this many powers of ten below the top.
DECADES = 12


def terminal_curves(curves: Mapping[str, Sequence[float]], x_label: str, y_label: str) -> "Text":
    """The values at 0, 1, 2, … of each curve, with powers of ten at the side; later curves cover
    earlier ones.
    """
    from rich.text import Text

    longest = max(map(len, curves.values()))
    highest, lowest = decades(curves)
    columns = min(WIDTH, 2 * longest)
    cells = [[(" ", "")] * columns for _ in range(HEIGHT)]
    for number, values in enumerate(curves.values()):
        mark, colour = MARKS[number % len(MARKS)], COLOURS[number % len(COLOURS)]
        for place, value in enumerate(values):
            if value >= 10.0**lowest:
                column = place * (columns - 1) // max(1, longest - 1)
                share = (highest - math.log10(value)) / (highest - lowest)
                cells[min(HEIGHT - 1, round(share * (HEIGHT - 1)))][column] = (mark, colour)
    picture = Text(f"{y_label}\n", style="bold")
    for row, line in enumerate(cells):
        exponent = highest - row * (highest - lowest) / (HEIGHT - 1)
        picture.append(f"{10**exponent:>9.1e} ┤", style="dim")
        for mark, colour in line:
            picture.append(mark, style=colour)
        picture.append("\n")
    picture.append(" " * 10 + "└" + "─" * columns + "\n", style="dim")
    picture.append(" " * 11 + "0" + f"{longest - 1}".rjust(columns - 1) + f"  {x_label}\n")
    for number, name in enumerate(curves):
        mark, colour = MARKS[number % len(MARKS)], COLOURS[number % len(COLOURS)]
        picture.append(" " * 11 + f"{mark} ", style=colour)
        picture.append(f"{name}\n")
    return picture


def decades(curves: Mapping[str, Sequence[float]]) -> tuple[int, int]:
    """The powers of ten between which the values lie, at most DECADES apart."""
    values = [value for each in curves.values() for value in each if value > 0] or [1.0]
    highest = math.ceil(math.log10(max(values)))
    lowest = math.floor(math.log10(min(values)))
    return highest, min(highest - 1, max(lowest, highest - DECADES))


def save_curves(
    curves: Mapping[str, Sequence[float]], x_label: str, y_label: str, path: Path
) -> None:
    """Save the curves as PNG, SVG or PDF, as the ending of the name says."""
    from matplotlib.figure import Figure

    highest, lowest = decades(curves)
    figure = Figure(figsize=(6.4, 4.0))
    axes = figure.add_subplot()
    for name, values in curves.items():
        axes.plot(range(len(values)), values, marker="o", markersize=3, label=f" {literal(name)}")
    axes.set_yscale("log")
    axes.set_ylim(10.0**lowest, 10.0**highest * 1.5)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    save_figure(figure, path, bbox_inches="tight")
