"""A recurrent reader: the state at each token, [h_t→, h_t←], has seen the text on both sides.

Shapes: B texts, T tokens, d d_model. Masks: True = a real token.
"""

import math
import sys

from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.layers.dropout import Dropout
from regard.layers.recurrent import RecurrentEncoder
from regard.models.configs import RecurrentCells, check_directions
from regard.models.recurrent import full_precision


class ReaderConfig(RecurrentCells):
    num_layers: int = Field(default=1, ge=1, le=200)
    # The width of embeddings and states; two directions share it.
    d_model: int = Field(default=256, ge=2, le=65536)
    bidirectional: bool = True
    dropout: float = Field(default=0.5, ge=0, lt=1)

    @model_validator(mode="after")
    def fits_together(self) -> "ReaderConfig":
        check_directions(self.d_model, self.bidirectional)
        return self

    def summary(self) -> str:
        layers = f"{self.num_layers} layer" + "s" * (self.num_layers > 1)
        reading = "bidirectional" if self.bidirectional else "left to right"
        return f"recurrent, {self.cell_name}, {layers}, d_model {self.d_model}, {reading}"


class Reader(nn.Module):
    def __init__(self, config: ReaderConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(vocabulary, config.d_model)
        # Small, so that rare tokens have little influence and are not learned by heart.
        nn.init.normal_(self.embedding.weight, std=0.1 * config.d_model**-0.5)
        self.dropout = Dropout(config.dropout)
        self.encoder = RecurrentEncoder(
            config.cell,
            config.d_model,
            config.num_layers,
            config.bidirectional,
            config.dropout,
            config.nonlinearity,
        )

    @property
    def longest(self) -> int:
        """The most positions a sequence may have; here there is no limit."""
        return sys.maxsize

    def features(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """[B, T] → [B, T, d]"""
        with full_precision(tokens.device):
            x = self.dropout(self.embedding(tokens) * math.sqrt(self.config.d_model))
            states: Tensor = self.encoder(x, mask)[0]
            return states
