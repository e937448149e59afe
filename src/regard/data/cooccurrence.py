"""Vectors of pieces, from counting which pieces occur near each other.

A table holds how much more often two pieces co-occur than by chance (positive pointwise mutual
information), and a singular value decomposition shortens its rows. Word2Vec computes nearly the
same (Levy and Goldberg 2014); the weights of rare neighbours and of small singular values are from
Levy, Goldberg and Dagan (2015).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.stream import Stream

# Of a longer text, this many slices, spread evenly over it, are enough.
SLICES, SLICE_TOKENS = 50, 1_000_000
# Rows have one column for each of the most frequent pieces, so that the table fits into memory.
COLUMNS = 8000
# The counts of neighbours are raised to this power, so that rare ones get less weight.
SMOOTHING = 0.75


class CooccurrenceVectors(NamedTuple):
    vectors: Tensor  # [V, width or less], rows of length one, zero for pieces that do not occur
    occurrences: Tensor  # [V]


def cooccurrence_vectors(
    stream: Stream, vocabulary: int, width: int, window: int, most_columns: int = 0
) -> CooccurrenceVectors:
    """A vector for every piece, from its neighbours up to `window` tokens away. With a vocabulary
    that is large, fewer columns save memory.
    """
    occurrences = torch.zeros(vocabulary, dtype=torch.int64)
    for part in slices_of(stream):
        occurrences += part.bincount(minlength=vocabulary)
    columns = occurrences.argsort(descending=True, stable=True)[: most_columns or COLUMNS]
    place = torch.full((vocabulary,), -1).index_put((columns,), torch.arange(len(columns)))
    table = torch.zeros(vocabulary * len(columns))
    for part in slices_of(stream):
        for distance in range(1, window + 1):
            left, right = part[:-distance], part[distance:]
            for piece, neighbour in (left, right), (right, left):
                column = place[neighbour]
                cells = (piece * len(columns) + column)[column >= 0]
                table.index_add_(0, cells, torch.ones(len(cells)))
    return CooccurrenceVectors(ppmi_vectors(table.view(vocabulary, -1), width), occurrences)


def slices_of(stream: Stream) -> Iterator[Tensor]:
    """Slices that cover the whole text or, if it is long, are spread evenly over it."""
    last = len(stream) - SLICE_TOKENS
    if last < (SLICES - 1) * SLICE_TOKENS:
        starts = np.arange(0, len(stream), SLICE_TOKENS)
    else:
        starts = np.linspace(0, last, SLICES).astype(np.int64)
    for start in starts:
        yield torch.from_numpy(stream.window(int(start), SLICE_TOKENS))


def ppmi_vectors(table: Tensor, width: int) -> Tensor:
    """Positive pointwise mutual information of counts [V, C], shortened to rows of length one,
    [V, min(V, C, width)], with the mean row subtracted. The table is overwritten.
    """
    pieces, neighbours = table.sum(1, keepdim=True), table.sum(0).pow_(SMOOTHING)
    occurs = pieces.flatten() > 0
    table.log_().sub_(pieces.log()).sub_((neighbours / neighbours.sum()).log())
    table.nan_to_num_(0.0, posinf=0.0, neginf=0.0).clamp_(min=0.0)
    width = min(width, *table.shape)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)  # the decomposition starts from random vectors
        left, values, _ = torch.svd_lowrank(table, min(width + 32, *table.shape), niter=3)
    rows = (left * values.sqrt())[:, :width]
    rows = torch.where(occurs[:, None], rows - rows[occurs].mean(0), 0.0)
    return F.normalize(rows, dim=1)
