"""Masks are boolean and True where a query may attend."""

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad: int) -> Tensor:
    """[B, S] ids → [B, S], True at real tokens."""
    return ids != pad


def key_mask(mask: Tensor) -> Tensor:
    """[B, S] → [B, 1, 1, S]: every head and query sees the same keys."""
    return mask[:, None, None, :]


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """[T, T]: position i sees positions ≤ i (§3.2.3)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()
