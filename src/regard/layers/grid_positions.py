"""Positions of the patches of an image, which have a row and a column: one half of a vector tells
the row, the other the column.

Shapes: P = rows * columns patches, row by row; d_k the width of a head.
"""

import torch
from torch import Tensor

from regard.layers.positions import sinusoids

# The slowest wave is this many patches long, times 2π. Grids are smaller than texts are long.
BASE = 100.0


def grid_sinusoids(rows: int, columns: int, d_model: int, amplitude: float = 1.0) -> Tensor:
    """[P, d_model]: the sinusoids of the row, then those of the column."""
    half = d_model // 2
    # Without torch.cat, which loads PyTorch's compiler where only shapes are needed.
    table = torch.empty(rows, columns, d_model, dtype=torch.float64)
    table[..., :half] = sinusoids(rows, half, amplitude, BASE)[:, None]
    table[..., half:] = sinusoids(columns, d_model - half, amplitude, BASE)
    return table.flatten(0, 1)


def grid_rotation(rows: int, columns: int, d_k: int, before: int = 0) -> Tensor:
    """[before + P, d_k / 2, 2]: cosine and sine of each pair's angle, as `rotate` takes them. Half
    of the pairs turn with the row, half with the column, so that only differences of rows and
    columns matter (Heo et al. 2024). `before` tokens without a place are not turned.
    """
    if d_k % 4:
        raise ValueError(f"rotary positions of rows and columns need a d_k that 4 divides: {d_k}")
    waves = grid_sinusoids(rows, columns, d_k)
    turns = torch.zeros(before + rows * columns, d_k // 2, 2)
    turns[:before, :, 0] = 1
    turns[before:, :, 0], turns[before:, :, 1] = waves[:, 1::2], waves[:, 0::2]
    return turns
