"""Removing heads: the smaller model computes what the whole one does with their outputs at 0."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.inspect.heads.heads import Head, Part, attentions
from regard.layers.attention import MultiHeadAttention

if TYPE_CHECKING:
    from regard.models import Model


def without_heads(
    model: "Model", gone: Sequence[Head]
) -> tuple[dict[Part, tuple[int, ...]], dict[str, Tensor]]:
    """How many heads are left in each layer of each part, and the parameters by name."""
    names = {module: name for name, module in model.named_modules()}
    tensors = {name: parameter.detach() for name, parameter in model.named_parameters()}
    counts: dict[Part, tuple[int, ...]] = {}
    for part, layers in attentions(model).items():
        left = []
        for layer, attention in enumerate(layers):
            if not isinstance(attention, MultiHeadAttention):
                raise ValueError(
                    f"{type(attention).__name__} has one head, which cannot be removed"
                )
            kept = [
                head for head in range(attention.num_heads) if Head(part, layer, head) not in gone
            ]
            left.append(len(kept))
            if not kept:
                raise ValueError(f"{part}.{layer} needs at least one head")
            tensors |= sliced(names[attention], attention, kept)
        counts[part] = tuple(left)
    return counts, tensors


def sliced(name: str, attention: MultiHeadAttention, kept: Sequence[int]) -> dict[str, Tensor]:
    """The rows of W^Q, W^K and W^V, and the columns of W^O, that belong to these heads."""
    inner, outer = attention.in_projection, attention.out_projection
    heads, chosen = attention.num_heads, torch.tensor(kept)

    def rows(parameter: Tensor) -> Tensor:
        each: Tensor = parameter.detach().unflatten(0, (3, heads, -1))
        return each[:, chosen].flatten(0, 2)

    columns = outer.weight.detach().unflatten(1, (heads, -1))[:, chosen].flatten(1, 2)
    return {
        f"{name}.in_projection.weight": rows(inner.weight),
        f"{name}.in_projection.bias": rows(inner.bias),
        f"{name}.out_projection.weight": columns,
    }
