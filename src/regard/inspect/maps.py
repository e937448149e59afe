"""Attention weights of one recorded pass over a source and an output.

S source pieces with END, T output pieces with END, h heads, L layers.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from regard.data.batch import START, batch_pairs
from regard.layers.alignment import StateAttention
from regard.layers.attention import CrossAttention, MultiHeadAttention

if TYPE_CHECKING:
    from regard.models import Model


@dataclass(frozen=True)
class Maps:
    """Row t of `decoder` and `cross` belongs to the position that predicts output piece t.

    L is 0 where there is no such attention: a recurrent model has it from target to source at most.
    """

    encoder: Tensor  # [L, h, S, S]
    decoder: Tensor  # [L, h, T, T]
    cross: Tensor  # [L, h, T, S]

    def alignment(self) -> Tensor:
        """[T, S]: cross-attention averaged over heads, in the last layer but one.

        The last layer already gathers for the next word; the one before it aligns best
        (Garg et al. 2019). A decoder of one layer has only that; one of none looks nowhere: zeros.
        """
        if not len(self.cross):
            return self.cross.new_zeros(self.cross.shape[-2:])
        return self.cross[max(0, self.cross.size(0) - 2)].mean(0)


@contextmanager
def recording(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Collect the weights of every attention called inside, under its name. No output changes."""
    weights: dict[str, list[Tensor]] = {}
    attentions = (MultiHeadAttention, StateAttention)
    found = {n: m for n, m in model.named_modules() if isinstance(m, attentions)}
    try:
        for name, module in found.items():
            module.record = weights.setdefault(name, [])
        yield weights
    finally:
        for module in found.values():
            module.record = None


@torch.no_grad()
def attention_maps(
    model: "Model", source: Sequence[int], output: Sequence[int], start: int = START
) -> Maps:
    """The maps for ids that both end in END, of an output that began with `start`."""
    device = next(model.parameters()).device
    batch = batch_pairs([source], [output], start).to(device)
    with recording(model) as weights:
        model.features(batch.source, batch.source_mask, batch.target)
    kinds: dict[str, list[Tensor]] = {"encoder": [], "decoder": [], "cross": []}
    modules = dict(model.named_modules())
    for name, recorded in weights.items():
        cross = isinstance(modules[name], (CrossAttention, StateAttention))
        # A recurrent decoder may attend step by step, a row each.
        layer = torch.cat(recorded, dim=2)[0]
        kinds["cross" if cross else name.partition(".")[0]].append(layer)
    return Maps(
        encoder=stacked(kinds["encoder"], len(source), len(source)),
        decoder=stacked(kinds["decoder"], len(output), len(output)),
        cross=stacked(kinds["cross"], len(output), len(source)),
    )


def stacked(layers: list[Tensor], rows: int, columns: int) -> Tensor:
    return torch.stack(layers) if layers else torch.zeros(0, 0, rows, columns)


def merge_words(
    weights: Tensor, target_words: Sequence[int], source_words: Sequence[int]
) -> Tensor:
    """[T, S] over pieces → [target words, source words]: a word looks where its pieces look on
    average, at all the pieces of a source word together. Pieces of word -1 (END) are left out.
    """
    targets = torch.zeros(max(target_words, default=-1) + 1, len(target_words)).to(weights)
    for piece, word in enumerate(target_words):
        if word >= 0:
            targets[word, piece] = 1.0
    sources = torch.zeros(len(source_words), max(source_words, default=-1) + 1).to(weights)
    for piece, word in enumerate(source_words):
        if word >= 0:
            sources[piece, word] = 1.0
    return (targets / targets.sum(1, keepdim=True)) @ weights @ sources
