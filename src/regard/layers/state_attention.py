"""What a recurrent decoder knows of the source at each step: a context c_i = Σ_j α_ij h_j.

Shapes: B sentences, Q questions, S source positions, d width.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.layers.attention import Replacement, replace_heads


class SourceMemory(NamedTuple):
    """The source as attention sees it, made once for each sentence."""

    keys: Tensor  # [B, S, d], what questions are compared with
    values: Tensor  # [B, S, d], the encoder's states h_j
    bias: Tensor  # [B, 1, S], added to scores: 0 at real positions, the lowest number at padding

    def select(self, sentences: Tensor) -> "SourceMemory":
        return SourceMemory(self.keys[sentences], self.values[sentences], self.bias[sentences])


class StateAttention(nn.Module):
    """Over the states of an encoder: scores become weights, weights a mean of the states."""

    def __init__(self) -> None:
        super().__init__()
        # Lists here collect the weights and the values of each call; see inspect.maps.
        self.record: list[Tensor] | None = None
        self.record_values: list[Tensor] | None = None
        # The only head, switched off for as long as inspect.heads wants it to be.
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
        question = self.query_projection(query)[:, :, None]
        mixed = (question + memory.keys[:, None]).tanh()  # [B, Q, S, d]
        return self.mean(mixed @ self.score.weight[0], memory)


class DotAttention(StateAttention):
    """e_ij = s_i · h_j, which needs no weights of its own (Luong et al. 2015, "dot")."""

    def remember(self, states: Tensor, mask: Tensor, last: Tensor) -> SourceMemory:
        return SourceMemory(states, states, padding_bias(mask, states))

    def forward(self, query: Tensor, memory: SourceMemory) -> Tensor:
        return self.mean(query @ memory.keys.transpose(1, 2), memory)


class NoAttention(nn.Module):
    """The last state of the encoder, whatever the question (Cho et al. 2014): a memory of one
    position, so there is nothing to choose.
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
