"""The Transformer, encoder and decoder (Vaswani et al. 2017, "Attention Is All You Need").

Shapes: B sentences, S source length, T target length, V vocabulary, R rows of a search.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.configs.transformer import TransformerConfig
from regard.layers.attention import MultiHeadAttention, SharedKeysValues
from regard.layers.dropout import Dropout
from regard.layers.key_value_cache import (
    KEY_MULTIPLE,
    KeyValueCache,
    reorder_sentences,
    repeat_for_heads,
)
from regard.layers.masks import key_mask
from regard.layers.positions import Learned, Rotary, Sinusoidal
from regard.layers.precision import lowered
from regard.layers.transformer import BlockSizes, DecoderBlock, EncoderBlock


def block_sizes(
    config: TransformerConfig, num_heads: int, cross_heads: int | None = None
) -> BlockSizes:
    """What a block with this number of heads is built from."""
    return BlockSizes(
        d_model=config.d_model,
        d_ff=config.d_ff,
        num_heads=num_heads,
        cross_heads=cross_heads,
        d_k=config.d_k,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        feed_forward_dropout=config.feed_forward_dropout,
        norm=config.norm,
        normalisation=config.normalisation,
        activation=config.activation,
    )


@dataclass(frozen=True)
class TransformerState:
    """What one step passes to the next. The R rows are the hypotheses of B sentences, those of a
    sentence adjacent. Steps and selections write in place: use a state only once.
    """

    cache: KeyValueCache
    memory: Tensor  # [layers, 2, B, h, S, d_k]: keys and values of the source
    memory_bias: Tensor  # [B, S]

    def select(self, rows: Tensor) -> "TransformerState":
        """The state of the rows that a search continues; row i of it continues `rows[i]`."""
        sentences = self.cache.sentences(rows)
        return TransformerState(
            cache=self.cache.reordered(rows, sentences),
            memory=reorder_sentences(self.memory, sentences),
            memory_bias=self.memory_bias[sentences],
        )


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
        self.target_embedding = nn.Embedding(target_vocabulary, config.d_model)
        self.source_embedding = (
            self.target_embedding
            if config.tied_embeddings == "all"
            else nn.Embedding(source_vocabulary, config.d_model)
        )
        self.output = nn.Linear(config.d_model, target_vocabulary, bias=config.output_bias)
        if config.tied_embeddings != "none":
            self.output.weight = self.target_embedding.weight
        self.positions: Sinusoidal | Learned | None = None
        self.rotary: Rotary | None = None
        if config.positions == "sinusoidal":
            self.positions = Sinusoidal(config.d_model)
        elif config.positions == "learned":
            self.positions = Learned(config.max_positions, config.d_model)
        else:
            self.rotary = Rotary(config.d_k)
        self.dropout = Dropout(config.dropout)
        self.encoder: Sequence[EncoderBlock] = nn.ModuleList(  # type: ignore[assignment]
            EncoderBlock(block_sizes(config, heads)) for heads in config.heads("encoder")
        )
        self.decoder: Sequence[DecoderBlock] = nn.ModuleList(  # type: ignore[assignment]
            DecoderBlock(block_sizes(config, heads, cross))
            for heads, cross in zip(config.heads("decoder"), config.heads("cross"), strict=True)
        )
        sizes = block_sizes(config, config.num_heads)
        pre = config.norm == "pre"
        self.encoder_norm = sizes.normaliser() if pre else nn.Identity()
        self.decoder_norm = sizes.normaliser() if pre else nn.Identity()
        self.reset()

    @property
    def most_heads(self) -> int:
        """The most heads of any attention in the decoder. The store of a search has room for this
        many in every layer.
        """
        return max((*self.config.heads("decoder"), *self.config.heads("cross")))

    @property
    def longest(self) -> int:
        """The most positions a sequence may have; only learned positions have a limit."""
        return self.config.max_positions if self.config.positions == "learned" else sys.maxsize

    def reset(self) -> None:
        """Initialise linear maps by Xavier's rule and embeddings with variance 1/d, which √d in
        `embed` turns into 1.
        """
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, MultiHeadAttention):
                for part in module.in_projection.weight.chunk(3):
                    nn.init.xavier_uniform_(part)
        # A dict keeps the order of the draws; the order of a set depends on memory addresses.
        for weight in dict.fromkeys((self.source_embedding.weight, self.target_embedding.weight)):
            nn.init.normal_(weight, std=self.config.d_model**-0.5)

    def embed(self, embedding: nn.Embedding, ids: Tensor, start: int = 0) -> Tensor:
        """Token plus position (§3.4): [B, T] → [B, T, d_model]"""
        x: Tensor = embedding(ids) * math.sqrt(self.config.d_model)
        if self.positions is not None:
            x = x + self.positions(start, ids.size(1), x)
        return self.dropout(lowered(x))  # type: ignore[no-any-return]

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
        """[B, T] → features [B, T, d_model], which `output` turns into logits."""
        x = self.embed(self.target_embedding, target)
        mask, rotation = key_mask(source_mask), self.rotation(0, target.size(1), x)
        for block in self.decoder:
            x = block(x, memory, mask, rotation=rotation)
        return self.decoder_norm(x)  # type: ignore[no-any-return]

    def features(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        return self.decode(target, self.encode(source, source_mask), source_mask)

    def forward(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        """Logits [B, T, V] for the token after each target position."""
        return self.output(self.features(source, source_mask, target))  # type: ignore[no-any-return]

    @torch.no_grad()
    def start(self, source: Tensor, source_mask: Tensor) -> TransformerState:
        """Read the source and return the state before the first token, with the source's keys and
        values.
        """
        features = self.encode(source, source_mask)
        (sentences, length), heads = source.shape, self.most_heads
        d_k = self.config.d_k
        room = length + -length % KEY_MULTIPLE
        memory = features.new_zeros(len(self.decoder), 2, sentences, heads, room, d_k)
        for block, (keys, values) in zip(self.decoder, memory[..., :length, :], strict=True):
            projected = block.cross_attention.project_memory(features)
            keys[:, : projected.keys.size(1)] = projected.keys
            values[:, : projected.values.size(1)] = projected.values
        mask = F.pad(source_mask, (0, room - length))
        if not bool(source_mask.any(1).all()):
            # A source that is all padding contributes nothing.
            memory.masked_fill_(~mask[:, None, :, None], 0)
        lowest = torch.finfo(memory.dtype).min
        return TransformerState(
            cache=KeyValueCache.empty(len(self.decoder), sentences, heads, d_k, like=memory),
            memory=memory,
            memory_bias=memory.new_zeros(mask.shape).masked_fill_(~mask, lowest),
        )

    @torch.no_grad()
    def step(self, tokens: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """(y, s') = f(x, s): tokens [R] → logits [R, V] for the next token."""
        x = self.embed(self.target_embedding, tokens[:, None], start=state.cache.position)[:, 0]
        rotation = self.rotation(state.cache.position, 1, x)
        cache = state.cache.extended()
        width = cache.bias.size(1)
        bias = repeat_for_heads(state.memory_bias[:, None].expand(-1, width, -1), self.most_heads)
        for block, (seen, new), (keys, values) in zip(
            self.decoder, cache.layers(), state.memory.flatten(2, 3), strict=True
        ):
            x = block.step(x, seen, new, SharedKeysValues(keys, values, bias), rotation)
        return self.output(self.decoder_norm(x)), replace(state, cache=cache)
