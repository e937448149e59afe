"""Attention (Vaswani et al. 2017, §3.2).

Shapes: B sentences, Q queries, K keys, h heads of width d_k = d_model / h (fewer heads of the same
width if some were removed). Masks: True = may attend.
"""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.layers.fast_attention import fast_attention
from regard.layers.linear import Linear
from regard.layers.positions import rotate


def attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(QKᵀ/√d)V and its weights, written as in the paper: the reference for the fused
    kernel.

    A query that may attend to nothing gets zeros rather than the NaN of an empty softmax.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=-1).masked_fill(~mask, 0.0)
    return weights @ value, weights


class KeysValues(NamedTuple):
    keys: Tensor  # [B, h, K, d_k]
    values: Tensor  # [B, h, K, d_k]


class SharedKeysValues(NamedTuple):
    """Keys and values that the W rows of a sentence share in a search."""

    keys: Tensor  # [B * h, K, d_k], K a multiple of 16
    values: Tensor  # [B * h, K, d_k]
    bias: Tensor  # [B * h, W, K], added to the scores: the lowest number where a row may not attend
    position: int = -1  # the position of the newest token, in the cache of a decoder

    def attend(self, query: Tensor) -> Tensor:
        """[B * h, W, d_k] → [B * h, W, d_k]

        For so few queries the fused kernel takes two to three times as long on a CPU. K is a
        multiple of 16 because a softmax over other numbers of keys takes up to ten times as long.
        """
        scale = query.size(-1) ** -0.5
        scores = torch.baddbmm(self.bias, query, self.keys.transpose(1, 2), alpha=scale)
        return torch.bmm(scores.softmax(-1), self.values)

    def mean(self) -> Tensor:
        """[B * h, W, d_k]: the output of attending evenly to all that a row may attend to."""
        visible = (self.bias == 0).to(self.values)
        return torch.bmm(visible, self.values) / visible.sum(-1, keepdim=True).clamp(min=1)


class Replacement(NamedTuple):
    """The outputs that replace those of some heads; see inspect.heads."""

    heads: Tensor  # [h, 1, 1], True where the output is replaced
    outputs: Tensor | None  # [h, 1, d_k], or None for the mean of what the head may attend to


def replace_heads(
    heads: Tensor, replaced: Iterable[Replacement], mean: Callable[[], Tensor]
) -> Tensor:
    """[B, h, Q, d_k] → [B, h, Q, d_k]; `mean` computes the output of even attention."""
    for each in replaced:
        outputs = mean() if each.outputs is None else each.outputs.to(heads)
        heads = torch.where(each.heads.to(heads.device), outputs, heads)
    return heads


class Forced(NamedTuple):
    """Some heads may attend to these keys only, when their query is at one position; see
    inspect.heads.forced.
    """

    heads: Tensor  # [h, 1, 1], True for the heads that are forced
    position: int
    keys: Tensor  # [n], all that they may attend to

    def rows(self, positions: Tensor) -> Tensor:
        """Queries at these positions [Q] → [h, Q, 1], True where a head is forced."""
        return self.heads.to(positions.device) & (positions == self.position)[:, None]


def restrict_to_forced(visible: Tensor, forced: Iterable[Forced], positions: Tensor) -> Tensor:
    """A mask [B, h, Q, K], or one that broadcasts to it, without the keys that forced queries may
    not attend to. A query that can see none of the keys it is forced to keeps its old mask.
    """
    places = torch.arange(visible.size(-1), device=visible.device)
    for each in forced:
        only = visible & torch.isin(places, each.keys.to(places.device))
        visible = torch.where(each.rows(positions) & only.any(-1, keepdim=True), only, visible)
    return visible


def force_heads(
    heads: Tensor, forced: Iterable[Forced], positions: Tensor, looked: Tensor
) -> Tensor:
    """[B, h, Q, d_k] → [B, h, Q, d_k], with the output from `looked` where a head is forced."""
    for each in forced:
        heads = torch.where(each.rows(positions), looked, heads)
    return heads


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, concatenated and projected (§3.2.2).

    Self-attention projects queries, keys and values in one product. Cross-attention projects the
    keys and values of the source in one product; the caller computes it once and passes it again.
    """

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, d_k: int | None = None
    ) -> None:
        """If heads were removed, d_k has to give the width of those that are left."""
        super().__init__()
        if d_k is None and d_model % num_heads:
            raise ValueError(f"d_model {d_model} is not a multiple of num_heads {num_heads}")
        width = num_heads * (d_k or d_model // num_heads)
        self.num_heads = num_heads
        self.dropout = dropout
        self.in_projection = Linear(d_model, 3 * width)
        self.out_projection = Linear(width, d_model)
        # Where these are lists, each call appends its weights and values; see inspect.maps.
        self.record: list[Tensor] | None = None
        self.record_values: list[Tensor] | None = None
        # Not empty while inspect.heads has switched heads off.
        self.replaced: tuple[Replacement, ...] = ()
        # Not empty while inspect.heads.forced makes positions look at chosen parts of the source.
        self.forced: tuple[Forced, ...] = ()

    def split_heads(self, x: Tensor) -> Tensor:
        """[B, T, h * d_k] → [B, h, T, d_k]"""
        batch, length, width = x.shape
        return x.view(batch, length, self.num_heads, width // self.num_heads).transpose(1, 2)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of the same sequence."""
        projected: Tensor = self.in_projection(x)
        query, key, value = projected.chunk(3, dim=-1)
        return self.split_heads(query), self.split_heads(key), self.split_heads(value)

    def project_queries(self, x: Tensor) -> Tensor:
        width = self.out_projection.in_features
        return self.split_heads(self.in_projection.part(x, slice(width)))

    def project_memory(self, memory: Tensor) -> KeysValues:
        width = self.out_projection.in_features
        key, value = self.in_projection.part(memory, slice(width, None)).chunk(2, dim=-1)
        return KeysValues(self.split_heads(key), self.split_heads(value))

    def attend_shared(self, query: Tensor, memory: SharedKeysValues, position: int = -1) -> Tensor:
        """Queries [B, h, W, d_k], all at one position, attend to what the rows of a sentence share
        → [B * W, d_model]

        The memory may have room for more heads than this layer has, since one store serves all
        layers.
        """
        sentences, own = query.shape[:2]
        room = memory.keys.size(0) // sentences
        padded = F.pad(query, (0, 0, 0, 0, 0, room - own)) if room > own else query
        heads = memory.attend(padded.flatten(0, 1)).unflatten(0, (sentences, room))
        if room > own:
            heads = heads[:, :own]
        if any(each.position == position for each in self.forced):
            keys, values, bias = (
                each.unflatten(0, (sentences, room))[:, :own] for each in memory[:3]
            )
            positions = torch.full((query.size(2),), position, device=query.device)
            visible = restrict_to_forced(bias == 0, self.forced, positions)
            looked, _ = attention(query, keys, values, visible)
            heads = force_heads(heads, self.forced, positions, looked)
        if self.replaced:
            heads = replace_heads(
                heads,
                self.replaced,
                lambda: memory.mean().unflatten(0, (sentences, room))[:, :own],
            )
        joined = heads.transpose(1, 2).flatten(2).flatten(0, 1)
        return self.out_projection(joined)  # type: ignore[no-any-return]

    def attend(
        self, query: Tensor, memory: KeysValues, mask: Tensor | None, causal: bool = False
    ) -> Tensor:
        """Queries [B, h, Q, d_k], the first one at position 0, attend to keys and values →
        [B, Q, d_model]
        """
        looked = None
        if self.record is not None or self.forced:
            looked, weights = self.look(
                query, memory, visible_keys(query, memory.keys, mask, causal)
            )
            if self.record is not None:
                self.record.append(weights)
        if self.record_values is not None:
            self.record_values.append(memory.values)
        dropout = self.dropout if self.training else 0.0
        heads = fast_attention(query, memory.keys, memory.values, mask, causal, dropout)
        if looked is not None:
            heads = force_heads(heads, self.forced, positions_of(query), looked)
        if self.replaced:
            visible = visible_keys(query, memory.keys, mask, causal)
            # Queries of zeros give equal scores, so all weights are equal.
            heads = replace_heads(
                heads,
                self.replaced,
                lambda: attention(query * 0, memory.keys, memory.values, visible)[0],
            )
        return self.out_projection(heads.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def look(
        self, query: Tensor, memory: KeysValues, visible: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Outputs and weights from the plain formula, with forced heads restricted to their
        keys.
        """
        if self.forced:
            if visible is None:
                visible = torch.ones(memory.keys.size(-2), dtype=torch.bool, device=query.device)
            visible = restrict_to_forced(visible, self.forced, positions_of(query))
        return attention(query, memory.keys, memory.values, visible)


def positions_of(query: Tensor) -> Tensor:
    """[…, Q, d_k] → [Q]"""
    return torch.arange(query.size(-2), device=query.device)


def visible_keys(query: Tensor, keys: Tensor, mask: Tensor | None, causal: bool) -> Tensor | None:
    """The mask of a call, which for causal attention is a triangle."""
    if not causal:
        return mask
    return torch.ones(query.size(-2), keys.size(-2), dtype=torch.bool, device=query.device).tril()


class SelfAttention(MultiHeadAttention):
    """Every position attends to positions of its own sequence."""

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        causal: bool = False,
        rotation: Tensor | None = None,
    ) -> Tensor:
        query, key, value = self.project(x)
        if rotation is not None:
            query, key = rotate(query, rotation), rotate(key, rotation)
        return self.attend(query, KeysValues(key, value), mask, causal)

    def step(
        self, x: Tensor, cache: SharedKeysValues, new: Tensor, rotation: Tensor | None = None
    ) -> Tensor:
        """Read one more position of each row, [B * W, d_model] → [B * W, d_model]. Its keys and
        values are written to `new` [2, B, h, W, d_k], which is a part of `cache`.
        """
        _, sentences, _, width, d_k = new.shape
        projected = self.in_projection(x).view(sentences, width, 3, self.num_heads, d_k)
        query, key, value = projected.permute(2, 0, 3, 1, 4)  # each [B, h, W, d_k]
        if rotation is not None:
            query, key = rotate(query, rotation), rotate(key, rotation)
        new[0, :, : self.num_heads], new[1, :, : self.num_heads] = key, value
        return self.attend_shared(query, cache)


class CrossAttention(MultiHeadAttention):
    """Positions of one sequence attend to another: the target to the source."""

    def forward(self, x: Tensor, memory: KeysValues, mask: Tensor | None = None) -> Tensor:
        return self.attend(self.project_queries(x), memory, mask)

    def step(
        self, x: Tensor, memory: SharedKeysValues, sentences: int, position: int = -1
    ) -> Tensor:
        """Rows [B * W, d_model] of B = `sentences`, all at one position, attend to their source."""
        query = self.project_queries(x.unflatten(0, (sentences, -1)))
        return self.attend_shared(query, memory, position)
