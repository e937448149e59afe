"""Pictures of attention and of positions: in the terminal, and as files."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from regard.inspect.drawing import literal, save_figure
from regard.inspect.maps import Matrix
from regard.inspect.positions import PositionTable

if TYPE_CHECKING:
    from rich.text import Text

Item = TypeVar("Item")
SHADES = " ░▒▓█"
# The largest heat map of a terminal, in characters; a character is two rows high.
WIDTH, HEIGHT = 96, 30


def terminal_matrix(
    source_words: Sequence[str],
    target_words: Sequence[str],
    weights: Sequence[Sequence[float]],
) -> "Text":
    """The alignment matrix, a row for each target word; darker is more attention.

    Source words are written above the columns from top to bottom, so that every word fits.
    """
    from rich.text import Text

    margin = max(map(len, target_words), default=0) + 1
    height = max(map(len, source_words), default=0)
    picture = Text()
    for level in range(height):
        cells = (word.rjust(height)[level] for word in source_words)
        picture.append(" " * margin + "".join(f" {cell} " for cell in cells) + "\n", style="bold")
    for word, row in zip(target_words, weights, strict=True):
        picture.append(word.rjust(margin - 1) + " ", style="bold")
        strongest = max(row, default=0.0)
        for weight in row:
            shade = SHADES[min(len(SHADES) - 1, round(weight * (len(SHADES) - 1)))]
            picture.append(shade * 3, style="cyan" if weight == strongest else "")
        picture.append("\n")
    return picture


def terminal_heat(values: Sequence[Sequence[float]]) -> "Text":
    """Signed numbers as colours, blue below zero and orange above; two rows in one line of text.

    If there are too many rows or columns, some are left out at even distances.
    """
    from rich.text import Text

    rows = evenly(values, 2 * HEIGHT)
    table = [evenly(row, WIDTH) for row in rows]
    largest = max((abs(value) for row in table for value in row), default=0.0) or 1.0
    picture = Text()
    for upper in range(0, len(table), 2):
        lower = table[upper + 1] if upper + 1 < len(table) else [None] * len(table[upper])
        for top, bottom in zip(table[upper], lower, strict=True):
            below = "default" if bottom is None else colour(bottom / largest)
            picture.append("▀", style=f"{colour(top / largest)} on {below}")
        picture.append("\n")
    return picture


def plain_heat(values: Sequence[Sequence[float]]) -> str:
    """The same where there are no colours: the smallest numbers are blank, the largest black."""
    table = [evenly(row, WIDTH) for row in evenly(values, 2 * HEIGHT)]
    smallest = min((min(row) for row in table), default=0.0)
    spread = max((max(row) for row in table), default=0.0) - smallest or 1.0
    most = len(SHADES) - 1
    return "".join(
        "".join(SHADES[round((value - smallest) / spread * most)] for value in row).rstrip() + "\n"
        for row in table
    )


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    if len(items) <= most:
        return list(items)
    return [items[place * len(items) // most] for place in range(most)]


def colour(value: float) -> str:
    """A colour from blue at -1 over near-white at 0 to orange at 1."""
    strong = (27, 104, 176) if value < 0 else (209, 98, 10)
    share = min(1.0, abs(value))
    return "#" + "".join(f"{round(245 + (each - 245) * share):02x}" for each in strong)


def save_matrix(matrix: Matrix, path: Path) -> None:
    """Save a map as PNG, SVG or PDF, as the ending of the name says."""
    from matplotlib.figure import Figure

    rows, columns = matrix.rows, matrix.columns
    figure = Figure(figsize=(1.6 + 0.5 * len(columns), 1.2 + 0.42 * len(rows)))
    axes = figure.add_subplot()
    axes.imshow(matrix.weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(columns)), map(literal, columns), rotation=45, ha="left")
    axes.set_yticks(range(len(rows)), map(literal, rows))
    axes.tick_params(length=0)
    axes.spines[:].set_color("#cccccc")
    save_figure(figure, path, bbox_inches="tight")


def save_csv(matrix: Matrix, path: Path) -> None:
    """Save a line for each row, with its label first; the first line has the columns' labels."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", *matrix.columns])
        for label, row in zip(matrix.rows, matrix.weights, strict=True):
            writer.writerow([label, *row])


def save_positions(found: PositionTable, path: Path) -> None:
    """Save the encoding and its dot products side by side, as PNG, SVG or PDF."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    limit = max(abs(value) for row in found.table for value in row)
    first = left.imshow(found.table, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    left.set(xlabel="dimension", ylabel="position", title=f"{found.kind} positions")
    figure.colorbar(first, ax=left)
    second = right.imshow(found.dots, cmap="viridis")
    right.set(xlabel="position", ylabel="position", title="dot products")
    figure.colorbar(second, ax=right)
    save_figure(figure, path)
