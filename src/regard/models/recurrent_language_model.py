"""A recurrent language model: each state predicts the token that follows (Mikolov et al. 2010).

Shapes: B rows, T tokens, V vocabulary, d d_model, P tensors of a state (h, or h and c, of each
layer).
"""

import math
import sys
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.configs.recurrent import RecurrentLanguageModelConfig
from regard.layers.dropout import Dropout
from regard.layers.recurrent import LayerState, RecurrentStack
from regard.models.recurrent import full_precision


@dataclass(frozen=True)
class RecurrentLanguageModelState:
    """What one step passes to the next."""

    layers: list[LayerState]

    def select(self, rows: Tensor) -> "RecurrentLanguageModelState":
        return RecurrentLanguageModelState(
            [tuple(part.index_select(0, rows) for part in layer) for layer in self.layers]
        )


class RecurrentLanguageModel(nn.Module):
    def __init__(self, config: RecurrentLanguageModelConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        d_model = config.d_model
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.dropout = Dropout(config.dropout)
        self.decoder = RecurrentStack(
            config.cell, d_model, d_model, config.num_layers, config.dropout, config.nonlinearity
        )
        self.output = nn.Linear(d_model, vocabulary, bias=False)
        if config.tied_embeddings:
            self.output.weight = self.embedding.weight
        for weight in dict.fromkeys((self.embedding.weight, self.output.weight)):
            nn.init.normal_(weight, std=d_model**-0.5)

    @property
    def longest(self) -> int:
        """The most positions a sequence may have; here there is no limit."""
        return sys.maxsize

    def embed(self, tokens: Tensor) -> Tensor:
        """[…] → […, d]"""
        return self.dropout(self.embedding(tokens) * math.sqrt(self.config.d_model))  # type: ignore[no-any-return]

    def continued(self, tokens: Tensor, carried: Tensor | None) -> tuple[Tensor, Tensor]:
        """Continue from the states `carried` [B, P, d], or from the beginning of a text if it is
        None: tokens [B, T] → features [B, T, d], and the states to carry on.
        """
        with full_precision(tokens.device):
            layers = None if carried is None else self.layers_of(carried)
            features, layers = self.decoder(self.embed(tokens), layers)
            parts = [part for layer in layers for part in layer]
            # The kernel returns a view in another memory order, which FSDP cannot pass on.
            return self.dropout(features).contiguous(), torch.stack(parts, dim=1)

    def layers_of(self, carried: Tensor) -> list[LayerState]:
        parts = iter(carried.unbind(1))
        return [tuple(next(parts) for _ in range(each.num_parts)) for each in self.decoder.layers]

    def features(self, tokens: Tensor) -> Tensor:
        """[B, T] → [B, T, d], which `output` turns into logits."""
        return self.continued(tokens, None)[0]

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits [B, T, V] for the token after each position."""
        return self.output(self.features(tokens))  # type: ignore[no-any-return]

    def start(self, rows: int) -> RecurrentLanguageModelState:
        """The state before the first token of each row."""
        like = self.output.weight.detach().new_zeros(rows, 0)
        return RecurrentLanguageModelState([layer.zeros(like) for layer in self.decoder.layers])

    @torch.no_grad()
    def step(
        self, tokens: Tensor, state: RecurrentLanguageModelState
    ) -> tuple[Tensor, RecurrentLanguageModelState]:
        """(y, s') = f(x, s): tokens [R] → logits [R, V] for the next token."""
        features, layers = self.decoder.step(self.embed(tokens), state.layers)
        return self.output(self.dropout(features)), RecurrentLanguageModelState(layers)
