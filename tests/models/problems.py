"""Sources, masks and targets for models of every kind."""

import torch
from torch import Tensor

VOCABULARY = 23
START = 2


def ids(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(4, VOCABULARY, shape, generator=torch.Generator().manual_seed(seed))


def problem(lengths: tuple[int, ...] = (9, 3, 6), target: int = 7) -> tuple[Tensor, Tensor, Tensor]:
    """Sources of these lengths with their mask, and as many targets."""
    source = ids(len(lengths), max(lengths))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    inputs = ids(len(lengths), target, seed=1)
    inputs[:, 0] = START
    return source.masked_fill(~mask, 0), mask, inputs
