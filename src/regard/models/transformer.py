"""The Transformer, encoder and decoder (Vaswani et al. 2017, "Attention Is All You Need").

Shapes: B sentences, S source length, T target length, V vocabulary, R rows of a search.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from regard.layers.attention import KeysValues, MultiHeadAttention
from regard.layers.dropout import Dropout
from regard.layers.masks import key_mask
from regard.layers.positions import Learned, Rotary, Sinusoidal
from regard.layers.transformer import (
    Activation,
    BlockSizes,
    DecoderBlock,
    EncoderBlock,
    Norm,
    Normalisation,
)


class TransformerConfig(BaseModel):
    """The paper's base model is the default (table 3)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["transformer"] = "transformer"
    encoder_layers: int = Field(default=6, ge=1, le=200)
    decoder_layers: int = Field(default=6, ge=1, le=200)
    d_model: int = Field(default=512, ge=2, le=65536)
    d_ff: int = Field(default=2048, ge=1, le=262144)
    num_heads: int = Field(default=8, ge=1, le=1024)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    attention_dropout: float = Field(default=0.0, ge=0, lt=1)
    feed_forward_dropout: float = Field(default=0.0, ge=0, lt=1)
    norm: Norm = "post"
    normalisation: Normalisation = "layer"
    activation: Activation = "relu"
    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    max_positions: int = Field(default=1024, ge=1, le=1_000_000)
    tied_embeddings: Literal["all", "output", "none"] = "all"

    def blocks(self) -> BlockSizes:
        return BlockSizes(
            d_model=self.d_model,
            d_ff=self.d_ff,
            num_heads=self.num_heads,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            feed_forward_dropout=self.feed_forward_dropout,
            norm=self.norm,
            normalisation=self.normalisation,
            activation=self.activation,
        )


@dataclass(frozen=True)
class TransformerState:
    """What one step hands to the next. R rows: the hypotheses of B sentences, adjacent, R / B each.

    `past` is written in place up to `length`; source keys and values stand once for each sentence.
    """

    past: Tensor  # [layers, 2, R, h, capacity, d_k]
    length: int
    memory: list[KeysValues]  # a layer: [B, h, S, d_k]
    memory_mask: Tensor  # [B, 1, 1, S]

    def select(self, rows: Tensor) -> "TransformerState":
        """The rows of a new search front, each continuing an old row."""
        sentences = self.memory_mask.size(0)
        group = self.past.size(2) // sentences
        kept, counts = torch.unique_consecutive(rows // group, return_counts=True)
        if not bool((counts == counts[0]).all()):
            kept = rows // group
        memory, memory_mask = self.memory, self.memory_mask
        if kept.numel() != sentences or not torch.equal(
            kept, torch.arange(sentences, device=kept.device)
        ):
            memory = [KeysValues(keys[kept], values[kept]) for keys, values in memory]
            memory_mask = memory_mask[kept]
        layers, two, _, heads, capacity, d_k = self.past.shape
        past = self.past.new_empty(layers, two, rows.numel(), heads, capacity, d_k)
        past[..., : self.length, :] = self.past[..., : self.length, :].index_select(2, rows)
        return replace(self, past=past, memory=memory, memory_mask=memory_mask)

    def with_room(self) -> "TransformerState":
        """Room for one more position: the buffer doubles when it is full."""
        if self.length < self.past.size(-2):
            return self
        return replace(self, past=F.pad(self.past, (0, 0, 0, self.past.size(-2))))


class Transformer(nn.Module):
    def __init__(
        self, config: TransformerConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__()
        if config.d_model % config.num_heads:
            raise ValueError(
                f"d_model {config.d_model} is not a multiple of num_heads {config.num_heads}"
            )
        if config.tied_embeddings == "all" and source_vocabulary != target_vocabulary:
            raise ValueError(
                'tied_embeddings = "all" needs one vocabulary for both sides, '
                f"these have {source_vocabulary} and {target_vocabulary} entries"
            )
        self.config = config
        sizes = config.blocks()
        self.target_embedding = nn.Embedding(target_vocabulary, config.d_model)
        self.source_embedding = (
            self.target_embedding
            if config.tied_embeddings == "all"
            else nn.Embedding(source_vocabulary, config.d_model)
        )
        self.output = nn.Linear(config.d_model, target_vocabulary, bias=False)
        if config.tied_embeddings != "none":
            self.output.weight = self.target_embedding.weight
        self.positions: Sinusoidal | Learned | None = None
        self.rotary: Rotary | None = None
        if config.positions == "sinusoidal":
            self.positions = Sinusoidal(config.d_model)
        elif config.positions == "learned":
            self.positions = Learned(config.max_positions, config.d_model)
        else:
            self.rotary = Rotary(config.d_model // config.num_heads)
        self.dropout = Dropout(config.dropout)
        self.encoder: Sequence[EncoderBlock] = nn.ModuleList(  # type: ignore[assignment]
            EncoderBlock(sizes) for _ in range(config.encoder_layers)
        )
        self.decoder: Sequence[DecoderBlock] = nn.ModuleList(  # type: ignore[assignment]
            DecoderBlock(sizes) for _ in range(config.decoder_layers)
        )
        pre = config.norm == "pre"
        self.encoder_norm = sizes.normaliser() if pre else nn.Identity()
        self.decoder_norm = sizes.normaliser() if pre else nn.Identity()
        self.reset()

    @property
    def longest(self) -> int:
        """The most positions a sequence may have: only learned ones run out."""
        return self.config.max_positions if self.config.positions == "learned" else sys.maxsize

    def reset(self) -> None:
        """Xavier for the products; embeddings of variance 1/d, which √d in `embed` makes 1."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, MultiHeadAttention):
                for part in module.in_projection.weight.chunk(3):
                    nn.init.xavier_uniform_(part)
        # A dict keeps the order of the draws, which a set would leave to memory addresses.
        for weight in dict.fromkeys((self.source_embedding.weight, self.target_embedding.weight)):
            nn.init.normal_(weight, std=self.config.d_model**-0.5)

    def embed(self, embedding: nn.Embedding, ids: Tensor, start: int = 0) -> Tensor:
        """Token plus position (§3.4): [B, T] → [B, T, d_model]"""
        x: Tensor = embedding(ids) * math.sqrt(self.config.d_model)
        if self.positions is not None:
            x = x + self.positions(start, ids.size(1), x)
        return self.dropout(x)  # type: ignore[no-any-return]

    def rotation(self, start: int, length: int, like: Tensor) -> Tensor | None:
        return None if self.rotary is None else self.rotary(start, length, like)

    def encode(self, source: Tensor, source_mask: Tensor) -> Tensor:
        """[B, S] → memory [B, S, d_model]"""
        x = self.embed(self.source_embedding, source)
        mask, rotation = key_mask(source_mask), self.rotation(0, source.size(1), x)
        for block in self.encoder:
            x = block(x, mask, rotation=rotation)
        return self.encoder_norm(x)  # type: ignore[no-any-return]

    def decode(self, target: Tensor, memory: Tensor, source_mask: Tensor) -> Tensor:
        """[B, T] → features [B, T, d_model], of which `output` makes logits."""
        x = self.embed(self.target_embedding, target)
        mask, rotation = key_mask(source_mask), self.rotation(0, target.size(1), x)
        for block in self.decoder:
            keys_values = block.cross_attention.project_memory(memory)
            x = block(x, keys_values, mask, rotation=rotation)
        return self.decoder_norm(x)  # type: ignore[no-any-return]

    def features(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        return self.decode(target, self.encode(source, source_mask), source_mask)

    def forward(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        """Logits [B, T, V] for the token after each target position."""
        return self.output(self.features(source, source_mask, target))  # type: ignore[no-any-return]

    def start(self, source: Tensor, source_mask: Tensor) -> TransformerState:
        """The state before the first token: the source is read, its keys and values are kept."""
        memory = self.encode(source, source_mask)
        keys_values = [block.cross_attention.project_memory(memory) for block in self.decoder]
        config = self.config
        d_k = config.d_model // config.num_heads
        past = memory.new_empty(config.decoder_layers, 2, source.size(0), config.num_heads, 16, d_k)
        return TransformerState(past, 0, keys_values, key_mask(source_mask))

    def step(self, tokens: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """(y, s') = f(x, s): tokens [R] → logits [R, V] for what follows."""
        state = state.with_room()
        x = self.embed(self.target_embedding, tokens[:, None], start=state.length)
        rotation = self.rotation(state.length, 1, x)
        for layer, block in enumerate(self.decoder):
            past = KeysValues(state.past[layer, 0], state.past[layer, 1])
            x = block.step(x, past, state.length, state.memory[layer], state.memory_mask, rotation)
        logits = self.output(self.decoder_norm(x[:, 0]))
        return logits, replace(state, length=state.length + 1)
