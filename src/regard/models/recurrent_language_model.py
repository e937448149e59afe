"""A recurrent language model: each state predicts the token that follows (Mikolov et al. 2010).

Shapes: B rows, T tokens, V vocabulary, d d_model, P tensors of a state (h, or h and c, of each
layer).
"""

import math
import sys
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.recurrent import Cell, LayerState, Nonlinearity, RecurrentStack
from regard.models.recurrent import full_precision


class RecurrentLanguageModelConfig(BaseModel):
    """The medium model of Zaremba et al. (2014) by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["recurrent"] = "recurrent"
    cell: Cell = "lstm"
    # What a plain RNN does with its sum; gated cells have their own.
    nonlinearity: Nonlinearity = "tanh"
    num_layers: int = Field(default=2, ge=1, le=200)
    d_model: int = Field(default=650, ge=1, le=65536)
    dropout: float = Field(default=0.5, ge=0, lt=1)
    tied_embeddings: bool = True

    @model_validator(mode="after")
    def fits_together(self) -> "RecurrentLanguageModelConfig":
        if self.nonlinearity != "tanh" and self.cell != "rnn":
            raise ValueError(
                f'nonlinearity = "{self.nonlinearity}" is for cell = "rnn"; leave it out '
                f'with "{self.cell}"'
            )
        return self

    def summary(self) -> str:
        plain = f" ({self.nonlinearity})" if self.cell == "rnn" else ""
        layers = f"{self.num_layers} layer" + "s" * (self.num_layers > 1)
        return f"recurrent, {self.cell}{plain}, {layers}, d_model {self.d_model}"


@dataclass(frozen=True)
class ReadSoFar:
    """What one step hands to the next."""

    layers: list[LayerState]

    def select(self, rows: Tensor) -> "ReadSoFar":
        return ReadSoFar(
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
        """The most positions a sequence may have: there is no limit."""
        return sys.maxsize

    def embed(self, tokens: Tensor) -> Tensor:
        """[…] → […, d]"""
        return self.dropout(self.embedding(tokens) * math.sqrt(self.config.d_model))  # type: ignore[no-any-return]

    def continued(self, tokens: Tensor, carried: Tensor | None) -> tuple[Tensor, Tensor]:
        """[B, T] after what `carried` [B, P, d] has read → features [B, T, d], and what is carried
        on. Nothing carried is the beginning of a text.
        """
        with full_precision(tokens.device):
            layers = None if carried is None else self.layers_of(carried)
            features, layers = self.decoder(self.embed(tokens), layers)
            parts = [part for layer in layers for part in layer]
            return self.dropout(features), torch.stack(parts, dim=1)

    def layers_of(self, carried: Tensor) -> list[LayerState]:
        parts = iter(carried.unbind(1))
        return [tuple(next(parts) for _ in range(each.num_parts)) for each in self.decoder.layers]

    def features(self, tokens: Tensor) -> Tensor:
        """[B, T] → [B, T, d], of which `output` makes logits."""
        return self.continued(tokens, None)[0]

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits [B, T, V] for the token after each position."""
        return self.output(self.features(tokens))  # type: ignore[no-any-return]

    def start(self, rows: int) -> ReadSoFar:
        """The state before the first token of each row."""
        like = self.output.weight.detach().new_zeros(rows, 0)
        return ReadSoFar([layer.zeros(like) for layer in self.decoder.layers])

    @torch.no_grad()
    def step(self, tokens: Tensor, state: ReadSoFar) -> tuple[Tensor, ReadSoFar]:
        """(y, s') = f(x, s): tokens [R] → logits [R, V] for what follows."""
        features, layers = self.decoder.step(self.embed(tokens), state.layers)
        return self.output(self.dropout(features)), ReadSoFar(layers)
