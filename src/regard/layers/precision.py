"""The type in which a model computes while it learns.

Weights are float32. What a model reads, such as vectors of tokens or pixels, goes through
`lowered`, and each layer turns its weights into the type of what it is given, so all between is in
the type that `computing_in` names. Norms, softmax, losses and heads of few outputs compute in
float32, and so do models that never call `lowered`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

_lowest: ContextVar[torch.dtype | None] = ContextVar("the type of a training", default=None)


@contextmanager
def computing_in(dtype: torch.dtype) -> Iterator[None]:
    """Compute in this type inside the block; the gradients of what was computed follow it."""
    before = _lowest.set(dtype)
    try:
        yield
    finally:
        _lowest.reset(before)


def working_type(own: torch.dtype) -> torch.dtype:
    """The type in which to compute with numbers of a type: outside of a block, their own."""
    return _lowest.get() or own


def lowered(x: Tensor) -> Tensor:
    """What a model reads, in the type in which it computes."""
    return x.to(working_type(x.dtype))
