"""Pictures of attention: in the terminal, and as files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

SHADES = " ░▒▓█"


def terminal_matrix(
    source_words: Sequence[str],
    target_words: Sequence[str],
    weights: Sequence[Sequence[float]],
) -> "Text":
    """The alignment matrix, a row for each target word; darker is more attention.

    Source words stand above the columns, read from top to bottom, so that every word fits.
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


def save_matrix(
    source_words: Sequence[str],
    target_words: Sequence[str],
    weights: Sequence[Sequence[float]],
    path: Path,
) -> None:
    """The alignment matrix as PNG, SVG or PDF, by the ending of the name."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.6 + 0.5 * len(source_words), 1.2 + 0.42 * len(target_words)))
    axes = figure.add_subplot()
    axes.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(source_words)), source_words, rotation=45, ha="left")
    axes.set_yticks(range(len(target_words)), target_words)
    axes.tick_params(length=0)
    axes.spines[:].set_color("#cccccc")
    figure.savefig(path, bbox_inches="tight", dpi=160)
