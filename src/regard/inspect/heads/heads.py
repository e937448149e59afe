"""Heads by name, and what a model produces without some of them.

A head is called `cross.1.3`: the part of the model, the layer and the head, both counted from 0.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from regard.data.batch import Batch
from regard.errors import RequestError
from regard.layers.attention import CrossAttention, MultiHeadAttention, Replacement
from regard.layers.state_attention import StateAttention

if TYPE_CHECKING:
    from regard.models import Model

# Usual parts are "encoder", "decoder" and "cross"; another stack is called by its own name.
Part = str
How = Literal["zero", "mean", "uniform"]
Attention = MultiHeadAttention | StateAttention
PARTS: tuple[Part, ...] = ("encoder", "decoder", "cross")


@dataclass(frozen=True, order=True)
class Head:
    part: Part
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.part}.{self.layer}.{self.head}"


def attentions(model: nn.Module) -> dict[Part, list[Attention]]:
    """The attentions of each part, layer by layer. They are found by their type; self-attention
    belongs to the part that is in its name, as in decoder.0.self_attention, or else to the stack
    that it is in: `blocks` in blocks.0.attention.
    """
    found: dict[Part, list[Attention]] = {part: [] for part in PARTS}
    for name, module in model.named_modules():
        if isinstance(module, (CrossAttention, StateAttention)):
            found["cross"].append(module)
        elif isinstance(module, MultiHeadAttention):
            found.setdefault(part_of(name.split(".")), []).append(module)
    return found


def part_of(path: Sequence[str]) -> Part:
    """The part of a model that a module belongs to, by the words of its name."""
    if usual := [each for each in PARTS if each in path]:
        return usual[0]
    numbers = [place for place, word in enumerate(path) if word.isdecimal()]
    return path[max(0, numbers[0] - 1)] if numbers else path[0] or "model"


def num_heads(attention: Attention) -> int:
    return attention.num_heads if isinstance(attention, MultiHeadAttention) else 1


def heads_of(model: nn.Module) -> list[Head]:
    """Every head, part by part and layer by layer."""
    return [
        Head(part, layer, head)
        for part, layers in attentions(model).items()
        for layer, attention in enumerate(layers)
        for head in range(num_heads(attention))
    ]


def choose_heads(model: nn.Module, specs: Sequence[str]) -> list[Head]:
    """The heads that patterns name: `cross.1.3`, `encoder.0`, `decoder.*.2`, `cross`."""
    everything = heads_of(model)
    chosen: set[Head] = set()
    for spec in specs:
        named = [head for head in everything if matches(head, spec)]
        if not named:
            known = ", ".join(known_heads(everything)) or "none"
            raise RequestError(
                f"heads {spec!r}: this model has no such head; write part.layer.head, counted "
                f"from 0, with * for all of them (it has {known})"
            )
        chosen.update(named)
    return [head for head in everything if head in chosen]


def matches(head: Head, spec: str) -> bool:
    wanted = spec.strip().split(".")
    return len(wanted) <= 3 and all(
        each in ("*", own) for each, own in zip(wanted, str(head).split("."), strict=False)
    )


def known_heads(heads: Sequence[Head]) -> list[str]:
    """The range of each part, for messages: encoder.0-1.0-3, cross.0-1.0-3."""
    return [
        f"{part}.0-{max(head.layer for head in own)}.0-{max(head.head for head in own)}"
        for part in dict.fromkeys(head.part for head in heads)
        if (own := [head for head in heads if head.part == part])
    ]


def all_but(model: nn.Module, specs: Sequence[str]) -> list[Head]:
    """The other heads in the layers of the named heads. If these are switched off, only the named
    heads are left in those layers.
    """
    kept = set(choose_heads(model, specs))
    layers = {(head.part, head.layer) for head in kept}
    return [
        head for head in heads_of(model) if (head.part, head.layer) in layers and head not in kept
    ]


@contextmanager
def heads_off(
    model: nn.Module,
    heads: Sequence[str | Head],
    how: How = "zero",
    means: Mapping[Head, Tensor] | None = None,
) -> Iterator[list[Head]]:
    """Inside the block the model works without these heads, in whole passes and in searches.

    `zero`: the output of a head is 0. `uniform`: it attends evenly to all it may attend to. `mean`:
    its output is its average output, which `head_means` computes. Nested blocks add up.
    """
    chosen = choose_heads(model, [str(head) for head in heads])
    if how == "mean" and means is None:
        raise ValueError('how = "mean" needs the means that head_means finds')
    before: list[tuple[Attention, tuple[Replacement, ...]]] = []
    try:
        for part, layers in attentions(model).items():
            for layer, attention in enumerate(layers):
                own = [head for head in chosen if (head.part, head.layer) == (part, layer)]
                if own:
                    before.append((attention, attention.replaced))
                    new = replacement(attention, own, how, means)
                    attention.replaced = (*attention.replaced, new)
        yield chosen
    finally:
        for attention, replaced in before:
            attention.replaced = replaced


def replacement(
    attention: Attention, heads: Sequence[Head], how: How, means: Mapping[Head, Tensor] | None
) -> Replacement:
    count = num_heads(attention)
    off = torch.zeros(count, 1, 1, dtype=torch.bool)
    off[[head.head for head in heads]] = True
    if how == "uniform":
        return Replacement(off, None)
    if how == "zero" or means is None:
        return Replacement(off, torch.zeros(count, 1, 1))
    outputs = torch.zeros(count, 1, len(means[heads[0]]))
    for head in heads:
        outputs[head.head, 0] = means[head]
    return Replacement(off, outputs)


@torch.no_grad()
def head_means(model: "Model", batches: Iterable[Batch]) -> dict[Head, Tensor]:
    """The output of each head, averaged over all real positions, [d_k]."""
    sums: dict[Head, Tensor] = {}
    counts: dict[Part, int] = defaultdict(int)
    for batch in batches:
        for part, layers in outputs_of_heads(model, batch).items():
            real = batch.source_mask if part == "encoder" else batch.label_mask
            counts[part] += int(real.sum())
            for layer, outputs in enumerate(layers):
                for number, total in enumerate(outputs[real].double().sum(0)):  # [h, d_k]
                    head = Head(part, layer, number)
                    sums[head] = sums.get(head, torch.zeros_like(total)) + total
    return {head: (total / counts[head.part]).float() for head, total in sums.items()}


def outputs_of_heads(model: "Model", batch: Batch) -> dict[Part, list[Tensor]]:
    """The inputs of the output projections in one pass: [B, T, h, d_k] for each layer."""
    found = attentions(model)
    collected: dict[Attention, list[Tensor]] = {}
    hooks = []
    for attention in (each for layers in found.values() for each in layers):
        kept = collected.setdefault(attention, [])
        if isinstance(attention, MultiHeadAttention):
            projection = attention.out_projection
            hooks.append(projection.register_forward_pre_hook(partial(keep_input, kept)))
        else:
            hooks.append(attention.register_forward_hook(partial(keep_output, kept)))
    try:
        model.features(batch.source, batch.source_mask, batch.target)
    finally:
        for hook in hooks:
            hook.remove()
    return {
        part: [
            torch.cat(collected[each], dim=1).unflatten(-1, (num_heads(each), -1))
            for each in layers
        ]
        for part, layers in found.items()
    }


def keep_input(kept: list[Tensor], module: nn.Module, given: tuple[Tensor, ...]) -> None:
    kept.append(given[0])


def keep_output(
    kept: list[Tensor], module: nn.Module, given: tuple[Tensor, ...], output: Tensor
) -> None:
    kept.append(output)
