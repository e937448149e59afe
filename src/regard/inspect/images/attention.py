"""The attention of a Vision Transformer, as maps over the patches of an image.

Shapes: T tokens, P = rows * columns patches after up to one class token, h heads, L layers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from regard.inspect.heads.heads import attentions, keep_input
from regard.inspect.maps import recording
from regard.layers.attention import MultiHeadAttention

Grid = tuple[int, int]


@dataclass(frozen=True)
class PatchAttention:
    """The attention weights of one pass over an image, and the gradient of one logit by each."""

    weights: list[Tensor]  # of each layer [h, T, T]
    gradients: list[Tensor]
    grid: Grid

    @property
    def tokens(self) -> int:
        """How many tokens come before the patches."""
        return self.weights[0].size(-1) - self.grid[0] * self.grid[1]

    def over_patches(self, rows: Tensor) -> Tensor:
        """[…, T, T] → […, rows, columns]: where the class token looks, or all patches on average,
        if the mean of the patches stands for the image.
        """
        queries = rows[..., :1, :] if self.tokens else rows
        return queries.mean(-2)[..., self.tokens :].unflatten(-1, self.grid)  # type: ignore[no-any-return]

    def heads(self) -> list[Tensor]:
        """Of each layer [h, rows, columns]: where each head looks."""
        return [self.over_patches(each) for each in self.weights]

    def rollout(self) -> Tensor:
        """[rows, columns]: attention through all layers (Abnar and Zuidema 2020). Each layer passes
        on half of what it read and half of what was there: the identity stands for the residual
        connection.
        """
        own = torch.eye(self.weights[0].size(-1)).to(self.weights[0])
        passed = own
        for each in self.weights:
            passed = (each.mean(0) + own) / 2 @ passed
        return self.over_patches(passed)

    def gradient(self) -> Tensor:
        """[rows, columns]: gradient × attention through all layers (Chefer et al. 2021). Only what
        speaks for the class is passed on, so that classes have different maps.
        """
        own = torch.eye(self.weights[0].size(-1)).to(self.weights[0])
        passed = own
        for weights, gradient in zip(self.weights, self.gradients, strict=True):
            passed = passed + (weights * gradient).clamp(min=0).mean(0) @ passed
        return self.over_patches(passed - own)


def has_attention(model: nn.Module) -> bool:
    return bool(layers_of(model))


def layers_of(model: nn.Module) -> list[MultiHeadAttention]:
    found = attentions(model)["encoder"]
    return [each for each in found if isinstance(each, MultiHeadAttention)]


def patch_attention(model: nn.Module, logit: Callable[[], Tensor], grid: Grid) -> PatchAttention:
    """The attention of the pass over one image that gives a logit.

    A head's output is weights × values, so the gradient of a weight is the product of the gradient
    of that output with the value. The pass itself stays as it is.
    """
    layers = layers_of(model)
    outputs: list[Tensor] = []
    hooks = [
        each.out_projection.register_forward_pre_hook(partial(keep_input, outputs))
        for each in layers
    ]
    try:
        with torch.enable_grad(), recording(model):
            found = logit()
            weights = [each.record[-1][0].detach() for each in layers if each.record]
            values = [each.record_values[-1][0] for each in layers if each.record_values]
    finally:
        for hook in hooks:
            hook.remove()
    by_output = torch.autograd.grad(found, outputs)  # [1, T, h * d_k] of each layer
    gradients = [
        each.split_heads(gradient)[0] @ value.detach().transpose(-2, -1)
        for each, gradient, value in zip(layers, by_output, values, strict=True)
    ]
    for each, gradient in zip(layers, gradients, strict=True):
        for off in each.replaced:  # whose weights count for nothing
            gradient.masked_fill_(off.heads.to(gradient.device), 0.0)
    return PatchAttention(weights, gradients, grid)
