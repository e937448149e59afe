"""Dropout that needs one random byte per number.

PyTorch draws a float for each number, on one core; in narrow models that takes longer than the
layer itself. Here one random 64-bit word serves eight numbers, so the probability is rounded to a
multiple of 1/256. What is kept is scaled by the rounded value, so the mean stays exact.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class Dropout(nn.Module):
    """Drops each number with probability p while training. Other devices than CPUs use PyTorch's
    own kernel.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        threshold = min(255, max(1, round(256 * self.p)))
        dropped: Tensor = _Dropout.apply(x, threshold)  # type: ignore[no-untyped-call]
        return dropped

    def extra_repr(self) -> str:
        return f"p={self.p}"


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, threshold: int) -> Tensor:
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64)
        words.random_(-(2**63), None)
        kept = words.view(torch.uint8)[: x.numel()].view(x.shape) >= threshold
        ctx.save_for_backward(kept)
        ctx.scale = 256 / (256 - threshold)
        return torch.ops.aten.native_dropout_backward(x, kept, ctx.scale)  # type: ignore[no-any-return]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return torch.ops.aten.native_dropout_backward(gradient, kept, ctx.scale), None
