"""The lowest point of a smooth convex function, by L-BFGS (Liu & Nocedal 1989)."""

from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor

# From a point to the function's value there and its gradient.
Function = Callable[[Tensor], tuple[float, Tensor]]

REMEMBERED = 8
# A step is accepted if the function falls by this share of what its slope promises.
SUFFICIENT = 1e-4
SMALLEST_STEP = 1e-6


@torch.no_grad()
def lowest(function: Function, start: Tensor, most: int = 100, tolerance: float = 1e-4) -> Tensor:
    """Where the function is lowest, to a share of its value that is the tolerance."""
    past: deque[tuple[Tensor, Tensor, float]] = deque(maxlen=REMEMBERED)
    point = start
    value, gradient = function(point)
    for _ in range(most):
        step = -direction(gradient, past)
        slope, size = float(gradient @ step), 1.0
        if slope >= 0:
            break  # rounding has left nothing to gain
        while True:
            new = point + size * step
            new_value, new_gradient = function(new)
            if new_value <= value + SUFFICIENT * size * slope or size < SMALLEST_STEP:
                break
            size /= 2
        moved, changed = new - point, new_gradient - gradient
        curvature = float(moved @ changed)
        if curvature > 0:
            past.append((moved, changed, curvature))
        gain = value - new_value
        if gain < 0:
            break
        point, value, gradient = new, new_value, new_gradient
        if gain <= tolerance * max(1.0, abs(value)):
            break
    return point


def direction(gradient: Tensor, past: deque[tuple[Tensor, Tensor, float]]) -> Tensor:
    """The gradient times the inverse of the curvature, as far as past steps have shown it."""
    found = gradient.clone()
    if not past:
        return found / max(1e-12, float(found.norm()))
    shares = []
    for moved, changed, curvature in reversed(past):
        shares.append(float(moved @ found) / curvature)
        found -= shares[-1] * changed
    _, changed, curvature = past[-1]
    found *= curvature / float(changed @ changed)
    for (moved, changed, curvature), share in zip(past, reversed(shares), strict=True):
        found += moved * (share - float(changed @ found) / curvature)
    return found
