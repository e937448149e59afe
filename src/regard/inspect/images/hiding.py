"""Patches of an image hidden one by one: a test of what any map claims.

Shapes: S pixels a side, C channels, N images.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import RequestError

Pixels = NDArray[np.uint8]
Grid = tuple[int, int]
# A finer grid would hide too little at a time, and take too long.
MOST_ROWS = 16
# For networks that have no patches of their own.
USUAL_ROWS = 8
# A coarser grid would hide too much at a time.
FEWEST_ROWS = 5
AT_ONCE = 64


def hiding_grid(encoder: Any, has_patches: bool, size: int) -> Grid:
    """The rows and columns of patches to hide: those of the model, where it has patches."""
    rows, columns = encoder.grid if has_patches else (USUAL_ROWS, USUAL_ROWS)
    most = min(MOST_ROWS, size)
    return min(rows, most), min(columns, most)


def cut_grid(grid: Grid, size: int) -> Grid:
    """The patches to hide where a model has vectors of the cells of a grid: the cells, or parts of
    them, if they are few.
    """
    times = -(-FEWEST_ROWS // min(grid))
    most = min(MOST_ROWS, size)
    return min(times * grid[0], most), min(times * grid[1], most)


def over_patches(maps: Tensor, grid: Grid) -> Tensor:
    """[…, rows, columns] of cells → the same for patches: each has the value of its cell."""
    for side, count in ((-2, grid[0]), (-1, grid[1])):
        cells = torch.arange(count) * maps.size(side) // count
        maps = maps.index_select(side, cells.to(maps.device))
    return maps


def check_patches(patches: Iterable[int], grid: Grid) -> list[int]:
    """Patches that the image has, in order and each once."""
    found, count = sorted(set(patches)), grid[0] * grid[1]
    if found and not 0 <= found[0] <= found[-1] < count:
        raise RequestError(f"patches {found}: the image has patches 0 to {count - 1}")
    return found


def mean_colour(encoder: Any, channels: int) -> Pixels:
    """The colour that the model takes for nothing: the mean of its data."""
    mean: Tensor = encoder.standardise.mean
    found: Pixels = mean.round().clamp(0, 255).to("cpu", torch.uint8).numpy()
    return found[:channels]


def with_hidden(pixels: Pixels, grid: Grid, patches: Iterable[int], colour: Pixels) -> Pixels:
    """A copy of an image [S, S, C] in which patches, counted row by row, have one colour."""
    changed = pixels.copy()
    height, width = pixels.shape[:2]
    for patch in patches:
        row, column = divmod(patch, grid[1])
        above, below = (round(each * height / grid[0]) for each in (row, row + 1))
        left, right = (round(each * width / grid[1]) for each in (column, column + 1))
        changed[above:below, left:right] = colour
    return changed


def each_hidden(
    pixels: Pixels, grid: Grid, colour: Pixels, already: Sequence[int] = ()
) -> Iterator[Pixels]:
    """Copies of an image, each with one patch hidden beside those that are hidden already, some
    [N, S, S, C] at a time.
    """
    count = grid[0] * grid[1]
    for start in range(0, count, AT_ONCE):
        yield np.stack(
            [
                with_hidden(pixels, grid, (*already, patch), colour)
                for patch in range(start, min(start + AT_ONCE, count))
            ]
        )


def hidden_patches(
    pixels: Pixels,
    grid: Grid,
    colour: Pixels,
    score: Callable[[Pixels], Tensor],
    already: Sequence[int] = (),
) -> Tensor:
    """[rows, columns, …]: by how much a score falls when a patch is hidden, beside those that are
    hidden already. `score` takes images [N, S, S, C] and gives [N, …].
    """
    now = score(with_hidden(pixels, grid, already, colour)[None])
    then = torch.cat([score(each) for each in each_hidden(pixels, grid, colour, already)])
    return (now - then).view(*grid, *then.shape[1:])


def agreement(map_of_model: Tensor, hidden: Tensor) -> float:
    """How well a map tells which patches matter: the rank correlation (Spearman's) of its values
    with what hiding the patches does, from -1 to 1. A map of other rows and columns is scaled.
    """
    rows, columns = hidden.shape
    fitting = scaled(map_of_model.double().cpu(), (rows, columns))
    first, second = ranks(fitting.flatten()), ranks(hidden.double().cpu().flatten())
    if not first.std() or not second.std():
        return 0.0
    return float(torch.corrcoef(torch.stack((first, second)))[0, 1])


def scaled(values: Tensor, grid: Grid) -> Tensor:
    """A map with these rows and columns; between its own places it is a mean of their values."""
    if tuple(values.shape) == grid:
        return values
    return F.interpolate(values[None, None], grid, mode="bilinear", align_corners=False)[0, 0]


def ranks(values: Tensor) -> Tensor:
    """[n] → [n]: the place of each value in order; equal ones share the mean of their places."""
    _, group, counts = values.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    return (last - (counts - 1) / 2)[group]  # type: ignore[no-any-return]
