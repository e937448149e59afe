"""Grad-CAM (Selvaraju et al. 2017): which places of a convolutional network speak for a class."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

# A map of fewer rows says little about where something is.
FEWEST_ROWS = 5


def grad_cam(encoder: nn.Module, logit: Callable[[], Tensor]) -> Tensor | None:
    """[rows, columns]: the map of the last layer whose places are still small enough to tell them
    apart; None for a network that has no places.

    Each channel counts as much as the logit would grow with it, averaged over places; what speaks
    against the class is left out.
    """
    found: dict[tuple[int, ...], Tensor] = {}

    def keep(module: nn.Module, given: Any, output: Any) -> None:
        if isinstance(output, Tensor) and output.dim() == 4:
            found[tuple(output.shape[2:])] = output

    stacks = [each for each in encoder.children() if isinstance(each, nn.ModuleList)]
    hooks = [block.register_forward_hook(keep) for stack in stacks for block in stack]
    try:
        with torch.enable_grad():
            value = logit()
    finally:
        for hook in hooks:
            hook.remove()
    if not found:
        return None
    # The last layer comes last; a finer one is taken if it is too coarse.
    layers = list(found.values())[::-1]
    chosen = next((each for each in layers if each.size(2) >= FEWEST_ROWS), layers[-1])
    (gradient,) = torch.autograd.grad(value, chosen)
    worth = gradient.mean((2, 3), keepdim=True)
    return (worth * chosen).sum(1)[0].clamp(min=0).detach()
