"""Rows of all processes, for a loss that compares each row with every other.

Shapes: B rows of this process, N rows of all processes.
"""

from typing import Any

import torch
from torch import Tensor, distributed


class GatheredRows(torch.autograd.Function):
    """The rows of all processes one after another. A gradient comes back from every process."""

    @staticmethod
    def forward(context: Any, own: Tensor, begin: int, count: int) -> Tensor:
        context.place = slice(begin, begin + len(own))
        whole = own.new_zeros(count, *own.shape[1:])
        whole[context.place] = own
        distributed.all_reduce(whole)  # adding zeros is exact
        return whole

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        total = gradients[0].clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(total)
        return total[context.place], None, None


def gathered(own: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors [B, d] and whole numbers [B, …] of this process → those of all processes, [N, d] and
    [N, …], and the places of this process's rows among them [B]. All processes call this together;
    one alone gets back what it gave.
    """
    if not distributed.is_available() or not distributed.is_initialized():
        return own, numbers, torch.arange(len(own), device=own.device)
    rank, size = distributed.get_rank(), distributed.get_world_size()
    counts = torch.zeros(size, dtype=torch.int64, device=own.device)
    counts[rank] = len(own)
    distributed.all_reduce(counts)
    begin, count = int(counts[:rank].sum()), int(counts.sum())
    vectors: Tensor = GatheredRows.apply(own, begin, count)  # type: ignore[no-untyped-call]
    whole = numbers.new_zeros(count, *numbers.shape[1:])
    whole[begin : begin + len(own)] = numbers
    distributed.all_reduce(whole)
    return vectors, whole, torch.arange(begin, begin + len(own), device=own.device)
