"""GPT: a decoder without an encoder, which continues a text (Radford et al. 2018, 2019).

The defaults are those of GPT-2's smallest model, except that it uses the tanh form of GELU, which
`activation` offers.

Shapes: B sequences, T tokens, V vocabulary, R rows of a search, d d_model.
"""

import math
import sys
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.configs.gpt import GPTConfig
from regard.layers.dropout import Dropout
from regard.layers.key_value_cache import KeyValueCache
from regard.layers.positions import Learned, Rotary, Sinusoidal
from regard.layers.precision import lowered
from regard.layers.transformer import EncoderBlock
from regard.models.stack import stack_sizes


class GPT(nn.Module):
    def __init__(self, config: GPTConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        sizes = stack_sizes(config, "pre")
        self.embedding = nn.Embedding(vocabulary, config.d_model)
        self.positions: Learned | Sinusoidal | None = None
        self.rotary: Rotary | None = None
        if config.positions == "learned":
            self.positions = Learned(config.max_positions, config.d_model)
        elif config.positions == "sinusoidal":
            self.positions = Sinusoidal(config.d_model)
        else:
            self.rotary = Rotary(config.d_model // config.num_heads)
        self.dropout = Dropout(config.dropout)
        self.decoder: Sequence[EncoderBlock] = nn.ModuleList(  # type: ignore[assignment]
            EncoderBlock(sizes) for _ in range(config.num_layers)
        )
        self.norm = sizes.normaliser()
        self.output = nn.Linear(config.d_model, vocabulary, bias=False)
        if config.tied_embeddings:
            self.output.weight = self.embedding.weight
        self.reset()

    @property
    def longest(self) -> int:
        """The most positions a sequence may have; only learned positions have a limit."""
        return self.config.max_positions if self.config.positions == "learned" else sys.maxsize

    def reset(self) -> None:
        """Draw all weights from N(0, 0.02). Those whose outputs are added to the residual stream
        are divided by the square root of their number, so that the stream does not grow with depth
        (GPT-2, §2.3).
        """
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
            if isinstance(module, Learned):
                nn.init.normal_(module.table, std=0.02)
        for block in self.decoder:
            for linear in (block.self_attention.out_projection, block.feed_forward.outer):
                nn.init.normal_(linear.weight, std=0.02 / math.sqrt(2 * len(self.decoder)))

    def embed(self, tokens: Tensor, start: int = 0) -> Tensor:
        """Token plus position: [B, T] → [B, T, d]"""
        x: Tensor = self.embedding(tokens)
        if self.config.positions == "sinusoidal":
            # Sinusoids have size 1, and the embeddings are scaled to match (Vaswani et al., §3.4).
            x = x * math.sqrt(self.config.d_model)
        if self.positions is not None:
            x = x + self.positions(start, tokens.size(1), x)
        return self.dropout(lowered(x))  # type: ignore[no-any-return]

    def rotation(self, start: int, length: int, like: Tensor) -> Tensor | None:
        return None if self.rotary is None else self.rotary(start, length, like)

    def features(self, tokens: Tensor) -> Tensor:
        """[B, T] → [B, T, d], which `output` turns into logits. A position sees itself and earlier
        ones, so whatever follows a text, padding or another text, changes nothing.
        """
        x = self.embed(tokens)
        rotation = self.rotation(0, tokens.size(1), x)
        for block in self.decoder:
            x = block(x, causal=True, rotation=rotation)
        return self.norm(x)  # type: ignore[no-any-return]

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits [B, T, V] for the token after each position."""
        return self.output(self.features(tokens))  # type: ignore[no-any-return]

    def start(self, rows: int) -> KeyValueCache:
        """The state before the first token of each row."""
        heads = self.config.num_heads
        d_k = self.config.d_model // heads
        return KeyValueCache.empty(
            len(self.decoder), rows, heads, d_k, like=self.output.weight.detach()
        )

    @torch.no_grad()
    def step(self, tokens: Tensor, state: KeyValueCache) -> tuple[Tensor, KeyValueCache]:
        """(y, s') = f(x, s): tokens [R] → logits [R, V] for the next token."""
        x = self.embed(tokens[:, None], start=state.position)[:, 0]
        rotation = self.rotation(state.position, 1, x)
        state = state.extended()
        for block, (cache, new) in zip(self.decoder, state.layers(), strict=True):
            x = block.step(x, cache, new, rotation)
        return self.output(self.norm(x)), state
