"""Batch normalisation with the statistics of all rows of a batch, however many processes share it.

PyTorch's own needs graphics cards for that. One process alone uses PyTorch's kernel.

Shapes: B images of this process, C channels, H × W places.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, distributed, nn
from torch.autograd.function import once_differentiable

# Whether the rows that go through the model now are part of the batch. Where rows are too few, a
# process only joins in the sums.
_rows_count = True


@contextmanager
def rows_counted(counted: bool) -> Iterator[None]:
    """Let the rows of a forward pass count for the statistics, or not."""
    global _rows_count
    before, _rows_count = _rows_count, counted
    try:
        yield
    finally:
        _rows_count = before


def alone() -> bool:
    return not distributed.is_available() or not distributed.is_initialized()


class BatchNorm2d(nn.BatchNorm2d):
    """As nn.BatchNorm2d. While training, all processes of a group call it together. A batch of one
    number in each channel has no statistics, and is normalised by those for evaluation.
    """

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, H, W] → [B, C, H, W]"""
        if not self.training or (alone() and x.numel() > x.size(1)):
            return super().forward(x)
        if alone():
            return self.as_evaluated(x)
        mean, variance, count = statistics(x.detach())
        if count == 1:
            return self.as_evaluated(x)
        self.remember(mean, variance * (count / (count - 1)))
        found: Tensor = _Normalise.apply(  # type: ignore[no-untyped-call]
            x, self.weight, self.bias, mean, variance, count, self.eps
        )
        return found

    def as_evaluated(self, x: Tensor) -> Tensor:
        running = self.running_mean, self.running_var
        return F.batch_norm(x, *running, self.weight, self.bias, training=False, eps=self.eps)

    @torch.no_grad()
    def remember(self, mean: Tensor, variance: Tensor) -> None:
        """Move the statistics for evaluation towards those of a batch."""
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        for kept, new in ((self.running_mean, mean), (self.running_var, variance)):
            assert kept is not None
            kept.lerp_(new.to(kept), self.momentum or 0.0)


def statistics(x: Tensor) -> tuple[Tensor, Tensor, float]:
    """The mean and the variance of each channel [C] over the rows of all processes, and how many
    numbers of a channel there are.
    """
    values = x.to(torch.promote_types(x.dtype, torch.float32))
    variance, mean = torch.var_mean(values, (0, 2, 3), correction=0)
    own = x.numel() / x.size(1) if _rows_count else 0.0
    sums = torch.cat((own * mean, mean.new_tensor([own])))
    distributed.all_reduce(sums)
    count = float(sums[-1])
    whole = sums[:-1] / count
    squares = own * (variance + (mean - whole) ** 2)
    distributed.all_reduce(squares)
    return whole, squares / count, count


class _Normalise(torch.autograd.Function):
    """Normalises by statistics to which the rows of all processes have contributed."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        mean: Tensor,
        variance: Tensor,
        count: float,
        eps: float,
    ) -> Tensor:
        ctx.save_for_backward(x, weight, mean, variance)
        ctx.count, ctx.eps, ctx.counted = count, eps, _rows_count
        return F.batch_norm(x, mean, variance, weight, bias, training=False, eps=eps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """As if the statistics were constants, and then what comes through them: the sums over the
        rows of all processes.
        """
        x, weight, mean, variance = ctx.saved_tensors
        for_x, for_weight, for_bias = torch.ops.aten.native_batch_norm_backward(
            *(gradient, x, weight, mean, variance, None, None, False, ctx.eps, [True, True, True])
        )
        sums = torch.stack((for_bias, for_weight)).to(mean.dtype) / ctx.count
        distributed.all_reduce(sums)
        if ctx.counted:
            scale = torch.rsqrt(variance + ctx.eps)
            slope = -weight * scale * scale * sums[1]
            offset = -weight * scale * sums[0] - slope * mean
            for_x = for_x + (x * each_channel(slope) + each_channel(offset)).to(for_x.dtype)
        return for_x, for_weight, for_bias, None, None, None, None


def each_channel(values: Tensor) -> Tensor:
    """[C] → [C, 1, 1]"""
    return values[:, None, None]
