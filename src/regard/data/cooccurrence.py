"""Vectors of pieces, from counting which of them stand near each other.

A piece is known by the company it keeps: a table tells how much more often two pieces meet than
chance would have it, and a singular value decomposition makes its rows short. Word2Vec approaches
much the same (Levy and Goldberg 2014); how rare neighbours and small singular values are weighed is
from Levy, Goldberg and Dagan (2015).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.stream import Stream

# Of a longer text, so many slices from all over it tell enough.
SLICES, SLICE_TOKENS = 50, 1_000_000
# Rows have one column for each of the most frequent pieces, so that the table fits into memory.
COLUMNS = 8000
# Rare neighbours tell less than their counts say.
SMOOTHING = 0.75


class CooccurrenceVectors(NamedTuple):
    vectors: Tensor  # [V, width or less], rows of length one, zero for pieces that do not occur
    occurrences: Tensor  # [V]


def cooccurrence_vectors(
    stream: Stream, vocabulary: int, width: int, window: int
) -> CooccurrenceVectors:
    """Vectors of every piece from its neighbours up to `window` tokens away."""
    occurrences = torch.zeros(vocabulary, dtype=torch.int64)
    for part in slices_of(stream):
        occurrences += part.bincount(minlength=vocabulary)
    columns = occurrences.argsort(descending=True, stable=True)[:COLUMNS]
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
    """The whole text, or slices that are evenly far from each other."""
    last = len(stream) - SLICE_TOKENS
    if last < (SLICES - 1) * SLICE_TOKENS:
        starts = np.arange(0, len(stream), SLICE_TOKENS)
    else:
        starts = np.linspace(0, last, SLICES).astype(np.int64)
    for start in starts:
        yield torch.from_numpy(stream.window(int(start), SLICE_TOKENS))


def ppmi_vectors(table: Tensor, width: int) -> Tensor:
    """Positive pointwise mutual information of counts [V, C], as rows [V, min(V, C, width)] of
    length one, without what all pieces have in common. The table is used up.
    """
    pieces, neighbours = table.sum(1, keepdim=True), table.sum(0).pow_(SMOOTHING)
    met = pieces.flatten() > 0
    table.log_().sub_(pieces.log()).sub_((neighbours / neighbours.sum()).log())
    table.nan_to_num_(0.0, posinf=0.0, neginf=0.0).clamp_(min=0.0)
    width = min(width, *table.shape)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)  # the decomposition is approached from a random start
        left, values, _ = torch.svd_lowrank(table, min(width + 32, *table.shape), niter=3)
    rows = (left * values.sqrt())[:, :width]
    rows = torch.where(met[:, None], rows - rows[met].mean(0), 0.0)
    return F.normalize(rows, dim=1)
