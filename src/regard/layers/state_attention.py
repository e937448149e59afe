"""Attention of a recurrent decoder over the encoder's states: at each step it receives a context
c_i = Σ_j α_ij h_j.

Shapes: B sentences, Q queries, S source positions, d width.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.layers.attention import Replacement, replace_heads


class SourceMemory(NamedTuple):
    """The source as attention sees it, computed once for each sentence."""

    keys: Tensor  # [B, S, d], what queries are compared with
    values: Tensor  # [B, S, d], the encoder's states h_j
    bias: Tensor  # [B, 1, S], added to scores: 0 at real positions, the lowest number at padding

    def select(self, sentences: Tensor) -> "SourceMemory":
        return SourceMemory(self.keys[sentences], self.values[sentences], self.bias[sentences])


class StateAttention(nn.Module):
    """The part that all these attentions share: scores become weights, and the context is the mean
    of the encoder's states with these weights.
    """

    def __init__(self) -> None:
        super().__init__()
        # Where these are lists, each call appends its weights and values; see inspect.maps.
        self.record: list[Tensor] | None = None
        self.record_values: list[Tensor] | None = None
        # Not empty while inspect.heads has switched the only head off.
        self.replaced: tuple[Replacement, ...] = ()

    def mean(self, scores: Tensor, memory: SourceMemory) -> Tensor:
        """e [B, Q, S] → contexts [B, Q, d]"""
        weights = (scores + memory.bias).softmax(dim=-1)
        if self.record is not None:
            self.record.append(weights[:, None])  # as one head
        if self.record_values is not None:
            self.record_values.append(memory.values[:, None])
        contexts = weights @ memory.values
        if self.replaced:
            even = memory.bias.softmax(dim=-1)
            contexts = replace_heads(
                contexts[:, None], self.replaced, lambda: (even @ memory.values)[:, None]
            )[:, 0]
        return contexts


class AdditiveAttention(StateAttention):
    """e_ij = v · tanh(W s_{i-1} + U h_j): a small feed-forward network (Bahdanau et al. 2015)."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query_projection = nn.Linear(d_model, d_model, bias=False)
        self.key_projection = nn.Linear(d_model, d_model)
        self.score = nn.Linear(d_model, 1, bias=False)

    def remember(self, states: Tensor, mask: Tensor, last: Tensor) -> SourceMemory:
        return SourceMemory(self.key_projection(states), states, padding_bias(mask, states))

    def forward(self, query: Tensor, memory: SourceMemory) -> Tensor:
        projected = self.query_projection(query)[:, :, None]
        mixed = (projected + memory.keys[:, None]).tanh()  # [B, Q, S, d]
        return self.mean(mixed @ self.score.weight[0], memory)


class DotAttention(StateAttention):
    """e_ij = s_i · h_j, which needs no weights of its own (Luong et al. 2015, "dot")."""

    def remember(self, states: Tensor, mask: Tensor, last: Tensor) -> SourceMemory:
        return SourceMemory(states, states, padding_bias(mask, states))

    def forward(self, query: Tensor, memory: SourceMemory) -> Tensor:
        return self.mean(query @ memory.keys.transpose(1, 2), memory)


class NoAttention(nn.Module):
    """The context is always the encoder's last state, whatever the query (Cho et al. 2014): the
    memory has one position, so there is nothing to choose.
    """

    def remember(self, states: Tensor, mask: Tensor, last: Tensor) -> SourceMemory:
        only = last[:, None]
        return SourceMemory(only, only, only.new_zeros(len(last), 1, 1))

    def forward(self, query: Tensor, memory: SourceMemory) -> Tensor:
        return memory.values.expand(-1, query.size(1), -1)


def padding_bias(mask: Tensor, states: Tensor) -> Tensor:
    """[B, S], True at real positions → [B, 1, S] in the type of the states."""
    bias = torch.zeros_like(mask, dtype=states.dtype)
    return bias.masked_fill_(~mask, torch.finfo(states.dtype).min)[:, None]
