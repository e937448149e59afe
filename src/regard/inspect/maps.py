"""Attention weights of one recorded pass over a source and an output, and the vectors they weight.

S source pieces with END, T output pieces with END, h heads, L layers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.data.batch import START, batch_pairs
from regard.errors import RequestError
from regard.inspect.heads.heads import Attention, Part, attentions
from regard.layers.attention import MultiHeadAttention

if TYPE_CHECKING:
    from regard.models import Model

# At each position the decoder has read one piece and predicts the next; either can label the row.
Reading = Literal["predicts", "read"]
# A weight itself, or the norm of the vector it carries: ‖α_ij v_j W_O‖ (Kobayashi et al. 2020).
Measure = Literal["weights", "norm"]


@dataclass(frozen=True)
class MapLabels:
    """The labels of rows and columns. `…_word` says which word a piece belongs to, -1 for none."""

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
    """One map, ready to be drawn or saved: a row for each label in `rows`."""

    rows: list[str]
    columns: list[str]
    weights: list[list[float]]


@dataclass(frozen=True)
class Maps:
    """All attention maps of a pass. Row t of `decoder` and `cross` belongs to the position that
    predicts output piece t.

    L is 0 if a model has no attention of that kind; a recurrent one has `cross` at most. If heads
    were removed, h is the largest number of heads in any layer, and the maps of missing heads are
    zeros: `heads` counts the real ones.

    `carried` holds, for each key, the dot products of the vectors that the heads of a layer carry
    from it with a weight of 1: [L, keys, h, h]. All norms follow from these.
    """

    encoder: Tensor  # [L, h, S, S]
    decoder: Tensor  # [L, h, T, T]
    cross: Tensor  # [L, h, T, S]
    labels: MapLabels = field(default_factory=MapLabels)
    heads: dict[Part, list[int]] = field(default_factory=dict)
    carried: dict[Part, Tensor] = field(default_factory=dict)

    def alignment(self) -> Tensor:
        """[T, S]: cross-attention averaged over heads, in the last layer but one.

        The last layer already prepares the next word; the one before it aligns best (Garg et al.
        2019). If there is only one layer, its weights are taken; if there is none, zeros.
        """
        if not len(self.cross):
            return self.cross.new_zeros(self.cross.shape[-2:])
        return self.weights("cross", max(0, self.cross.size(0) - 2))

    def weights(
        self,
        part: Part,
        layer: int | None = None,
        head: int | None = None,
        measure: Measure = "weights",
    ) -> Tensor:
        """The map [rows, columns] of a head; None means the mean over heads, or layers and heads.

        With "norm" each row is scaled to sum to 1. For several heads it is the norm of the sum of
        their vectors; for several layers the mean of their norms.
        """
        whole: Tensor = getattr(self, part)
        counts = self.heads.get(part) or [whole.size(1)] * len(whole)
        if not len(whole):
            return whole.new_zeros(whole.shape[-2:])
        layers = range(len(whole)) if layer is None else [layer]
        if measure == "norm":
            return torch.stack([shares(self.norms(part, each, head)) for each in layers]).mean(0)
        if head is not None:
            return torch.stack([whole[each, head] for each in layers]).mean(0)
        return torch.cat([whole[each, : counts[each]] for each in layers]).mean(0)

    def norms(self, part: Part, layer: int, head: int | None = None) -> Tensor:
        """[rows, columns]: the norms of the vectors that a head carries. For None, those of the sum
        over all heads of the layer, which may cancel each other.
        """
        if part not in self.carried:
            raise RequestError("these maps were made without values, so nothing is known of norms")
        weights, dots = getattr(self, part)[layer], self.carried[part][layer]
        if head is not None:
            size: Tensor = dots[:, head, head].sqrt()
            return size * weights[head]  # type: ignore[no-any-return]
        squares = torch.einsum("hij,jhg,gij->ij", weights.to(dots), dots, weights.to(dots))
        return squares.clamp(min=0).sqrt()

    def matrix(
        self,
        part: Part = "cross",
        layer: int | None = None,
        head: int | None = None,
        reading: Reading = "predicts",
        words: bool = False,
        measure: Measure = "weights",
    ) -> Matrix:
        """A map with its labels. Columns of the decoder are pieces that were read."""
        labels, weights = self.labels, self.weights(part, layer, head, measure)
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

    def _repr_html_(self) -> str | None:
        """The page with all layers and heads, in a frame of its own, for notebooks."""
        from regard.inspect.page import framed

        return framed(self)


def shares(sizes: Tensor) -> Tensor:
    """Each row divided by its sum, unless the sum is 0."""
    tiny = torch.finfo(sizes.dtype).tiny
    return sizes / sizes.sum(-1, keepdim=True).clamp(min=tiny)


@contextmanager
def recording(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Collect the weights of every attention called inside, under its name. No output changes."""
    weights: dict[str, list[Tensor]] = {}
    found = {n: m for n, m in model.named_modules() if isinstance(m, Attention)}
    try:
        for name, module in found.items():
            module.record = weights.setdefault(name, [])
            module.record_values = []
        yield weights
    finally:
        for module in found.values():
            module.record = module.record_values = None


@torch.no_grad()
def attention_maps(
    model: "Model", source: Sequence[int], output: Sequence[int], start: int = START
) -> Maps:
    """The maps of a source and an output that both end in END; the decoder begins with `start`."""
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
    """The maps of what a model does in `read`, with `source` and `output` pieces."""
    found = attentions(model)
    with recording(model):
        read()
        recorded = {
            # A recurrent decoder may attend step by step, a row at a time, to the same values.
            part: [torch.cat(attention.record or [], dim=2)[0] for attention in layers]
            for part, layers in found.items()
        }
        products = {
            part: [carried_products(each, (each.record_values or [])[0][0]) for each in layers]
            for part, layers in found.items()
        }
    return Maps(
        encoder=stacked(recorded["encoder"], source, source),
        decoder=stacked(recorded["decoder"], output, output),
        cross=stacked(recorded["cross"], output, source),
        heads={part: [len(layer) for layer in layers] for part, layers in recorded.items()},
        carried={part: padded(layers) for part, layers in products.items()},
    )


def carried_products(attention: Attention, values: Tensor) -> Tensor:
    """Values [h, K, d_k] → dot products [K, h, h]. A head carries from a key its value, multiplied
    by the head's part of the output projection; a recurrent decoder has no such projection.
    """
    vectors = values
    if isinstance(attention, MultiHeadAttention):
        projection = attention.out_projection.weight.T.unflatten(0, (attention.num_heads, -1))
        vectors = values @ projection.to(values.dtype)  # [h, K, d_model]
    vectors = vectors.transpose(0, 1).to(torch.promote_types(vectors.dtype, torch.float32))
    return vectors @ vectors.transpose(1, 2)


def padded(layers: list[Tensor]) -> Tensor:
    """[K, h, h] of each layer → [L, K, h, h], zeros where a layer has fewer heads than another."""
    if not layers:
        return torch.zeros(0, 0, 0, 0)
    most = max(each.size(-1) for each in layers)
    return torch.stack([F.pad(each, (0, most - each.size(-1)) * 2) for each in layers])


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
