"""Attention weights of one recorded pass over a source and an output.

S source pieces with END, T output pieces with END, h heads, L layers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from regard.data.batch import START, batch_pairs
from regard.inspect.heads import Attention, Part, attentions

if TYPE_CHECKING:
    from regard.models import Model

# The decoder at a position has read one piece and predicts the next: a row may be called by either.
Reading = Literal["predicts", "read"]


@dataclass(frozen=True)
class Labels:
    """What stands beside rows and columns. `…_word` tells which word a piece is of, -1 for none."""

    source: list[str] = field(default_factory=list)  # S pieces, the last END
    source_word: list[int] = field(default_factory=list)
    source_words: list[str] = field(default_factory=list)
    predicts: list[str] = field(default_factory=list)  # T pieces, the last END
    predicts_word: list[int] = field(default_factory=list)
    read: list[str] = field(default_factory=list)  # T pieces, the first START
    read_word: list[int] = field(default_factory=list)
    target_words: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Matrix:
    """One map, ready to be drawn or written: a row for each label in `rows`."""

    rows: list[str]
    columns: list[str]
    weights: list[list[float]]


@dataclass(frozen=True)
class Maps:
    """Row t of `decoder` and `cross` belongs to the position that predicts output piece t.

    L is 0 where there is no such attention: a recurrent model has it from target to source at most.
    Where layers have lost heads, h is the most that any layer has, and the others are filled up
    with zeros: `heads` counts the real ones.
    """

    encoder: Tensor  # [L, h, S, S]
    decoder: Tensor  # [L, h, T, T]
    cross: Tensor  # [L, h, T, S]
    labels: Labels = field(default_factory=Labels)
    heads: dict[Part, list[int]] = field(default_factory=dict)

    def alignment(self) -> Tensor:
        """[T, S]: cross-attention averaged over heads, in the last layer but one.

        The last layer already gathers for the next word; the one before it aligns best
        (Garg et al. 2019). A decoder of one layer has only that; one of none looks nowhere: zeros.
        """
        if not len(self.cross):
            return self.cross.new_zeros(self.cross.shape[-2:])
        return self.weights("cross", max(0, self.cross.size(0) - 2))

    def weights(self, part: Part, layer: int | None = None, head: int | None = None) -> Tensor:
        """[rows, columns] of a head; of None the mean over heads, or over layers and heads."""
        whole: Tensor = getattr(self, part)
        counts = self.heads.get(part) or [whole.size(1)] * len(whole)
        if not len(whole):
            return whole.new_zeros(whole.shape[-2:])
        layers = range(len(whole)) if layer is None else [layer]
        if head is not None:
            return torch.stack([whole[each, head] for each in layers]).mean(0)
        return torch.cat([whole[each, : counts[each]] for each in layers]).mean(0)

    def matrix(
        self,
        part: Part = "cross",
        layer: int | None = None,
        head: int | None = None,
        reading: Reading = "predicts",
        words: bool = False,
    ) -> Matrix:
        """A map with its labels. Columns of the decoder are pieces that were read."""
        labels, weights = self.labels, self.weights(part, layer, head)
        rows = "source" if part == "encoder" else reading
        columns = "read" if part == "decoder" else "source"
        if not words:
            return Matrix(getattr(labels, rows), getattr(labels, columns), weights.tolist())
        row_words, column_words = (
            labels.source_words if side == "source" else labels.target_words
            for side in (rows, columns)
        )
        merged = merge_words(
            weights, getattr(labels, f"{rows}_word"), getattr(labels, f"{columns}_word")
        )
        return Matrix(row_words, column_words, merged.tolist())


@contextmanager
def recording(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Collect the weights of every attention called inside, under its name. No output changes."""
    weights: dict[str, list[Tensor]] = {}
    found = {n: m for n, m in model.named_modules() if isinstance(m, Attention)}
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
    return recorded_maps(
        model,
        lambda: model.features(batch.source, batch.source_mask, batch.target),
        len(source),
        len(output),
    )


@torch.no_grad()
def recorded_maps(model: nn.Module, read: Callable[[], object], source: int, output: int) -> Maps:
    """The maps of what a model does in `read`, with so many source and output pieces."""
    with recording(model):
        read()
        recorded = {
            # A recurrent decoder may attend step by step, a row each.
            part: [torch.cat(attention.record or [], dim=2)[0] for attention in layers]
            for part, layers in attentions(model).items()
        }
    return Maps(
        encoder=stacked(recorded["encoder"], source, source),
        decoder=stacked(recorded["decoder"], output, output),
        cross=stacked(recorded["cross"], output, source),
        heads={part: [len(layer) for layer in layers] for part, layers in recorded.items()},
    )


def stacked(layers: list[Tensor], rows: int, columns: int) -> Tensor:
    """[L, h, rows, columns], zeros where a layer has fewer heads than another."""
    if not layers:
        return torch.zeros(0, 0, rows, columns)
    most = max(map(len, layers))
    whole = layers[0].new_zeros(len(layers), most, rows, columns)
    for filled, layer in zip(whole, layers, strict=True):
        filled[: len(layer)] = layer
    return whole


def merge_words(
    weights: Tensor, target_words: Sequence[int], source_words: Sequence[int]
) -> Tensor:
    """[…, T, S] over pieces → […, target words, source words]: a word looks where its pieces look
    on average, at all the pieces of a source word together. Pieces of word -1 (END) are left out.
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
