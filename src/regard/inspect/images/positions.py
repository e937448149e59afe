"""How alike the positions of the patches of a Vision Transformer are (Dosovitskiy et al. 2021,
figure 7).
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import RequestError
from regard.inspect.drawing import save_figure
from regard.inspect.figures import evenly


@torch.no_grad()
def position_similarity(encoder: Any) -> Tensor | None:
    """[rows, columns, rows, columns]: how alike the positions of two patches are, -1 … 1. None if
    the encoder has no positions of patches.
    """
    table = getattr(encoder, "positions", None)
    if table is None:
        table = getattr(encoder, "rotation", None)
    if not isinstance(table, Tensor):
        return None
    rows, columns = encoder.grid
    vectors = table[-rows * columns :].flatten(1).float()
    vectors = torch.nn.functional.normalize(vectors, dim=-1)
    return (vectors @ vectors.T).view(rows, columns, rows, columns)


def patch_positions(model: Any) -> NDArray[np.float32]:
    """The same as an array, of a model that has to have them."""
    alike = position_similarity(model.encoder)
    if alike is None:
        raise RequestError("the encoder has no positions of patches; a Vision Transformer has")
    found: NDArray[np.float32] = alike.cpu().numpy()
    return found


def mosaic(alike: NDArray[np.float32], most: int) -> list[list[float]]:
    """The maps of patches as one table, each where its patch is, with a row and a column of 0
    between them. If the table had more than `most` rows, some patches are left out.
    """
    rows, columns = alike.shape[:2]
    down, across = (
        evenly(range(count), max(1, (most + 1) // (count + 1))) for count in (rows, columns)
    )
    table = np.zeros((len(down) * (rows + 1) - 1, len(across) * (columns + 1) - 1))
    for i, row in enumerate(down):
        for j, column in enumerate(across):
            top, left = i * (rows + 1), j * (columns + 1)
            table[top : top + rows, left : left + columns] = alike[row, column]
    found: list[list[float]] = table.tolist()
    return found


def save_positions(alike: NDArray[np.float32], path: Path) -> None:
    """Save a small map for each patch: how alike its position is to that of every patch. The ending
    of the name chooses PNG, SVG or PDF.
    """
    from matplotlib.figure import Figure

    rows, columns = alike.shape[:2]
    side = min(0.9, 14 / max(rows, columns))
    figure = Figure(figsize=(side * columns + 1.4, side * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for row in range(rows):
        for column in range(columns):
            place = axes[row, column]
            drawn = place.imshow(alike[row, column], cmap="viridis", vmin=alike.min(), vmax=1)
            place.set_xticks([])
            place.set_yticks([])
            place.spines[:].set_color("#cccccc")
        axes[row, 0].set_ylabel(str(row + 1), rotation=0, fontsize=8, va="center", labelpad=8)
    for column in range(columns):
        axes[-1, column].set_xlabel(str(column + 1), fontsize=8)
    figure.colorbar(drawn, ax=axes, label="cosine of the positions")
    save_figure(figure, path)
