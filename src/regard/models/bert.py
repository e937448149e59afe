"""BERT: an encoder that predicts masked tokens (Devlin et al. 2019). Classifiers, taggers and
sentence vectors use its features.

Shapes: B texts, T tokens, V vocabulary, d d_model. Masks: True = a real token.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.configs.bert import BertConfig
from regard.layers.dropout import Dropout
from regard.layers.linear import Linear
from regard.layers.masks import key_mask
from regard.layers.positions import Learned, sinusoids
from regard.layers.precision import lowered
from regard.layers.transformer import EncoderBlock, activate
from regard.models.stack import stack_sizes


class Bert(nn.Module):
    def __init__(self, config: BertConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        sizes = stack_sizes(config, "post")
        self.embedding = nn.Embedding(vocabulary, config.d_model)
        self.segments = nn.Embedding(config.num_segments, config.d_model)
        self.positions = Learned(config.max_positions, config.d_model)
        self.embedding_norm = sizes.normaliser()
        self.dropout = Dropout(config.dropout)
        self.encoder: Sequence[EncoderBlock] = nn.ModuleList(  # type: ignore[assignment]
            EncoderBlock(sizes) for _ in range(config.num_layers)
        )
        if config.pooler:
            self.pooler = Linear(config.d_model, config.d_model)
        if config.next_sentence:
            self.relation = Linear(config.d_model, 2)
        if config.masked_head:
            self.head = Linear(config.d_model, config.d_model)
            self.head_norm = sizes.normaliser()
            self.output = Linear(config.d_model, vocabulary)
            self.output.weight = self.embedding.weight
        self.reset()

    @property
    def longest(self) -> int:
        """The most positions a sequence may have."""
        return self.config.max_positions

    def reset(self) -> None:
        """Draw all weights from N(0, 0.02), as the authors' code does, except those of positions.
        These start as sinusoids that are larger than the token embeddings: small models then learn
        to use neighbouring tokens within hundreds of updates; otherwise they see a bag of words for
        thousands.
        """
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
        with torch.no_grad():
            table = self.positions.table
            table.copy_(sinusoids(table.size(0), table.size(1), amplitude=0.07))

    def embed(self, tokens: Tensor, segments: Tensor | None) -> Tensor:
        """Token plus position plus segment, normalised: [B, T] → [B, T, d]"""
        x: Tensor = self.embedding(tokens)
        x = x + self.positions(0, tokens.size(1), x)
        x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        return self.dropout(lowered(self.embedding_norm(x)))  # type: ignore[no-any-return]

    def features(self, tokens: Tensor, mask: Tensor, segments: Tensor | None = None) -> Tensor:
        """[B, T] → [B, T, d]: a vector for each token, which depends on all tokens that the mask
        shows. Without `segments`, all tokens belong to segment 0.
        """
        x = self.embed(tokens, segments)
        visible = key_mask(mask)
        for block in self.encoder:
            x = block(x, visible)
        return x

    def predictions(self, features: Tensor) -> Tensor:
        """The masked-token head without its last layer: features […, d] → […, d], which `output`
        turns into logits.
        """
        return self.head_norm(activate(self.head(features), self.config.activation))  # type: ignore[no-any-return]

    def forward(self, tokens: Tensor, mask: Tensor, segments: Tensor | None = None) -> Tensor:
        """Logits [B, T, V] for the token at each position (not the one after it)."""
        return self.output(self.predictions(self.features(tokens, mask, segments)))  # type: ignore[no-any-return]

    def pooled(self, features: Tensor) -> Tensor:
        """[B, T, d] → [B, d]: the pooler's output for the first token."""
        return torch.tanh(self.pooler(features[:, 0]))
