"""A recurrent reader: the state at each token, [h_t→, h_t←], has seen the text on both sides.

Shapes: B texts, T tokens, d d_model. Masks: True = a real token.
"""

import math
import sys

from torch import Tensor, nn

from regard.configs.recurrent import ReaderConfig
from regard.layers.dropout import Dropout
from regard.layers.recurrent import RecurrentEncoder
from regard.models.recurrent import full_precision


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

    def features(self, tokens: Tensor, mask: Tensor, added: Tensor | None = None) -> Tensor:
        """[B, T] → [B, T, d]. What is `added` to the embeddings is [B, T, d], too."""
        with full_precision(tokens.device):
            x = self.embedding(tokens) * math.sqrt(self.config.d_model)
            x = self.dropout(x if added is None else x + added)
            states: Tensor = self.encoder(x, mask)[0]
            return states
