"""Every number behind one attention weight, from the inputs that the layer really had.

K keys, h heads, d_k the width of a head.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.data.batch import START, batch_pairs
from regard.errors import RequestError
from regard.inspect.heads.heads import Attention, Head, attentions, num_heads
from regard.layers.attention import (
    CrossAttention,
    MultiHeadAttention,
    SelfAttention,
    positions_of,
    restrict_to_forced,
    visible_keys,
)
from regard.layers.positions import rotate
from regard.layers.state_attention import AdditiveAttention, SourceMemory

if TYPE_CHECKING:
    from regard.models import Model


@dataclass(frozen=True)
class Numbers:
    """The numbers for one query and one key of a head. Lists [K] have one for each key of the row.

    Scaled dot products: `products` are the elementwise products of q and k, dot = their sum,
    scaled = dot / √d_k. Additive attention: `query_row` and `key_row` are W s and U h, `products`
    are the elementwise products of v and tanh(W s + U h), and scale is 1. The context of a
    recurrent decoder is not projected: `contribution` and `projected` are the output itself.
    """

    head: Head
    query: int
    key: int
    query_row: list[float]  # [d_k], rotated by its position if positions are rotary
    key_row: list[float]  # [d_k]
    products: list[float]  # [d_k]
    dot: float  # the sum of the products
    scale: float  # √d_k
    dots: list[float]  # [K], the same sum for every key
    scaled: list[float]  # [K], divided by the scale
    visible: list[bool]  # [K], False where the mask, or a forced head, forbids attention
    exponentials: list[float]  # [K], e to the power of scaled minus the largest; 0 where forbidden
    total: float  # their sum
    weights: list[float]  # [K], exponentials / total
    values: list[list[float]]  # [K, d_k]
    weighted: list[list[float]]  # [K, d_k], weight × value
    output: list[float]  # [d_k], the sum of the weighted values
    heads: list[list[float]]  # [h, d_k], the outputs of all heads of the layer
    contribution: list[float]  # [d_model], this head's share of the projection
    projected: list[float]  # [d_model], the layer's output: shares of all heads plus the bias

    def _repr_html_(self) -> str:
        """For notebooks: a table from the score of each key to its weight."""
        names = ("key", "score", "divided", "exponential", "weight")
        columns = (self.dots, self.scaled, self.exponentials, self.weights)
        rows = [
            f"<tr><th>{key}</th>" + "".join(f"<td>{value:.4f}</td>" for value in values) + "</tr>"
            for key, values in enumerate(zip(*columns, strict=True))
        ]
        head = "".join(f"<th>{name}</th>" for name in names)
        return (
            f"<table><caption>{self.head}, query {self.query}: scores are divided by "
            f"{self.scale:.4g}, exponentials by {self.total:.4g}</caption>"
            f"<tr>{head}</tr>{''.join(rows)}</table>"
        )


@dataclass(frozen=True)
class Row:
    """The inputs of all heads of a layer, for one query of one sentence."""

    queries: Tensor  # [h, d_k]
    keys: Tensor  # [h, K, d_k]
    values: Tensor  # [h, K, d_k]
    products: Tensor  # [h, K, d_k]
    scale: float
    visible: Tensor  # [h, K]
    out: Tensor | None  # [h, d_k, d_model]
    bias: Tensor | None  # [d_model]


@torch.no_grad()
def numbers(
    model: "Model",
    source: Sequence[int],
    output: Sequence[int],
    head: Head,
    query: int,
    key: int,
    start: int = START,
) -> Numbers:
    """The numbers of one pass over a source and an output that both end in END; the decoder begins
    with `start`.
    """
    batch = batch_pairs([source], [output], start).to(next(model.parameters()).device)

    def read() -> None:
        model.features(batch.source, batch.source_mask, batch.target)

    return numbers_of_pass(model, read, head, query, key)


@torch.no_grad()
def numbers_of_pass(
    model: nn.Module, read: Callable[[], object], head: Head, query: int, key: int
) -> Numbers:
    """The numbers of what a model does in `read`, one pass over one input."""
    layers = attentions(model)[head.part]
    if not 0 <= head.layer < len(layers) or not 0 <= head.head < num_heads(layers[head.layer]):
        raise RequestError(f"heads '{head}': this model has no such head; layers count from 0")
    attention = layers[head.layer]
    calls = recorded_calls(attention, read)
    row = (
        dot_product_row(attention, calls[0], query)
        if isinstance(attention, MultiHeadAttention)
        else state_row(attention, calls, query)
    )
    if not 0 <= key < row.keys.size(1):
        raise RequestError(f"key {key}: there are {row.keys.size(1)} keys, counted from 0")
    return worked(row, head, query, key)


def recorded_calls(attention: Attention, read: Callable[[], object]) -> list[dict[str, Any]]:
    """The arguments, by name, of each call of a layer while `read` runs."""
    names: tuple[str, ...] = ("query", "memory")
    if isinstance(attention, MultiHeadAttention):
        crosses = isinstance(attention, CrossAttention)
        names = ("x", "memory", "mask") if crosses else ("x", "mask", "causal", "rotation")
    calls: list[dict[str, Any]] = []

    def keep(module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        calls.append({**dict(zip(names, given, strict=False)), **named})

    hook = attention.register_forward_pre_hook(keep, with_kwargs=True)
    try:
        read()
    finally:
        hook.remove()
    return calls


class DotProducts(NamedTuple):
    """What a multi-head attention compares and mixes in a call, for the first of its sentences."""

    queries: Tensor  # [h, Q, d_k], rotated by their positions if these are rotary
    keys: Tensor  # [h, K, d_k], likewise
    values: Tensor  # [h, K, d_k]
    visible: Tensor  # [h, Q, K], False where the mask, or a forced head, forbids attention


def dot_products(attention: MultiHeadAttention, call: dict[str, Any]) -> DotProducts:
    x: Tensor = call["x"]
    if isinstance(attention, SelfAttention):
        queries, keys, values = attention.project(x)
        if (rotation := call.get("rotation")) is not None:
            queries, keys = rotate(queries, rotation), rotate(keys, rotation)
    else:
        queries, (keys, values) = attention.project_queries(x), call["memory"]
    visible = visible_keys(queries, keys, call.get("mask"), call.get("causal", False))
    everywhere = torch.ones(*queries.shape[:-1], keys.size(-2), dtype=torch.bool)  # [1, h, Q, K]
    seen = everywhere if visible is None else everywhere & visible.cpu()
    seen = restrict_to_forced(seen, attention.forced, positions_of(queries).cpu())
    return DotProducts(queries[0], keys[0], values[0], seen[0])


def dot_product_row(attention: MultiHeadAttention, call: dict[str, Any], query: int) -> Row:
    x: Tensor = call["x"]
    if not 0 <= query < x.size(1):
        raise RequestError(f"query {query}: there are {x.size(1)} queries, counted from 0")
    found = dot_products(attention, call)
    chosen = found.queries[:, query]
    width, d_k = attention.out_projection.in_features, chosen.size(-1)
    weight = attention.out_projection.weight  # [d_model, h * d_k]
    return Row(
        queries=chosen,
        keys=found.keys,
        values=found.values,
        products=chosen[:, None] * found.keys,
        scale=math.sqrt(d_k),
        visible=found.visible[:, query],
        out=weight.T.unflatten(0, (width // d_k, d_k)),
        bias=attention.out_projection.bias,
    )


def state_row(attention: Any, calls: list[dict[str, Any]], query: int) -> Row:
    """The row of a recurrent decoder, which may attend once for all steps or step by step."""
    questions = torch.cat([call["query"][0] for call in calls])  # [T, d]
    if not 0 <= query < len(questions):
        raise RequestError(f"query {query}: there are {len(questions)} queries, counted from 0")
    memory: SourceMemory = calls[0]["memory"]
    question = questions[query]
    if isinstance(attention, AdditiveAttention):
        question = attention.query_projection(question)
        products = (question + memory.keys[0]).tanh() * attention.score.weight[0]
    else:
        products = question * memory.keys[0]
    return Row(
        queries=question[None],
        keys=memory.keys,
        values=memory.values,
        products=products[None],
        scale=1.0,
        visible=memory.bias[0] == 0,
        out=None,
        bias=None,
    )


def worked(row: Row, head: Head, query: int, key: int) -> Numbers:
    """Compute everything that follows from the products, in double precision."""
    number = head.head
    dots = row.products.double().sum(-1)  # [h, K]
    scaled = dots / row.scale
    visible = row.visible.to(scaled.device)
    hidden = scaled.masked_fill(~visible, -math.inf)
    largest = hidden.amax(-1, keepdim=True)
    exponentials = (hidden - largest).exp() if bool(visible.any()) else torch.zeros_like(hidden)
    totals = exponentials.sum(-1, keepdim=True)
    weights = exponentials / totals.clamp(min=torch.finfo(totals.dtype).tiny)
    values = row.values.double()
    outputs = (weights[:, None] @ values)[:, 0]  # [h, d_k]
    if row.out is None or row.bias is None:
        contribution = projected = outputs[number]
    else:
        shares = (outputs[:, None] @ row.out.double())[:, 0]  # [h, d_model]
        contribution, projected = shares[number], shares.sum(0) + row.bias.double()
    return Numbers(
        head=head,
        query=query,
        key=key,
        query_row=row.queries[number].tolist(),
        key_row=row.keys[number, key].tolist(),
        products=row.products[number, key].tolist(),
        dot=float(dots[number, key]),
        scale=row.scale,
        dots=dots[number].tolist(),
        scaled=scaled[number].tolist(),
        visible=row.visible[number].tolist(),
        exponentials=exponentials[number].tolist(),
        total=float(totals[number]),
        weights=weights[number].tolist(),
        values=values[number].tolist(),
        weighted=(weights[number][:, None] * values[number]).tolist(),
        output=outputs[number].tolist(),
        heads=outputs.tolist(),
        contribution=contribution.tolist(),
        projected=projected.tolist(),
    )
