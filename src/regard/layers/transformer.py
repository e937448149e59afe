"""Encoder and decoder blocks (§3.1), with the choices that later work added.

Shapes: B sentences, S source length, T target length, d_model.
"""

from dataclasses import dataclass
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from regard.layers.attention import CrossAttention, KeysValues, SelfAttention
from regard.layers.dropout import Dropout
from regard.layers.positions import rotate

Norm = Literal["post", "pre"]
Normalisation = Literal["layer", "rms"]
Activation = Literal["relu", "gelu", "swiglu"]


@dataclass(frozen=True)
class BlockSizes:
    """What every block of a stack is built from."""

    d_model: int
    d_ff: int
    num_heads: int
    dropout: float = 0.1
    attention_dropout: float = 0.0
    feed_forward_dropout: float = 0.0
    norm: Norm = "post"
    normalisation: Normalisation = "layer"
    activation: Activation = "relu"

    def normaliser(self) -> nn.Module:
        if self.normalisation == "rms":
            return nn.RMSNorm(self.d_model, eps=1e-6)
        return nn.LayerNorm(self.d_model)


class FeedForward(nn.Module):
    """Two linear maps with a non-linearity between (§3.3); SwiGLU has a third as a gate."""

    def __init__(self, sizes: BlockSizes) -> None:
        super().__init__()
        self.activation = sizes.activation
        gates = 2 if sizes.activation == "swiglu" else 1
        self.inner = nn.Linear(sizes.d_model, gates * sizes.d_ff)
        self.outer = nn.Linear(sizes.d_ff, sizes.d_model)
        self.dropout = Dropout(sizes.feed_forward_dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.inner(x)
        if self.activation == "swiglu":
            gate, value = hidden.chunk(2, dim=-1)
            hidden = F.silu(gate) * value
        elif self.activation == "gelu":
            hidden = F.gelu(hidden)
        else:
            hidden = F.relu(hidden)
        return self.outer(self.dropout(hidden))  # type: ignore[no-any-return]


class Residual(nn.Module):
    """Add & norm around a sub-layer: after it as in the paper, or before it ("pre").

    A block calls `before`, its sub-layer, then `after`.
    """

    def __init__(self, sizes: BlockSizes) -> None:
        super().__init__()
        self.pre = sizes.norm == "pre"
        self.normalise = sizes.normaliser()
        self.dropout = Dropout(sizes.dropout)

    def before(self, x: Tensor) -> Tensor:
        return self.normalise(x) if self.pre else x

    def after(self, x: Tensor, update: Tensor) -> Tensor:
        x = x + self.dropout(update)
        return x if self.pre else self.normalise(x)


class EncoderBlock(nn.Module):
    def __init__(self, sizes: BlockSizes) -> None:
        super().__init__()
        self.self_attention = SelfAttention(sizes.d_model, sizes.num_heads, sizes.attention_dropout)
        self.self_attention_residual = Residual(sizes)
        self.feed_forward = FeedForward(sizes)
        self.feed_forward_residual = Residual(sizes)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        causal: bool = False,
        rotation: Tensor | None = None,
    ) -> Tensor:
        residual = self.self_attention_residual
        x = residual.after(
            x, self.self_attention(residual.before(x), mask, causal=causal, rotation=rotation)
        )
        residual = self.feed_forward_residual
        return residual.after(x, self.feed_forward(residual.before(x)))


class DecoderBlock(nn.Module):
    def __init__(self, sizes: BlockSizes) -> None:
        super().__init__()
        self.self_attention = SelfAttention(sizes.d_model, sizes.num_heads, sizes.attention_dropout)
        self.self_attention_residual = Residual(sizes)
        self.cross_attention = CrossAttention(
            sizes.d_model, sizes.num_heads, sizes.attention_dropout
        )
        self.cross_attention_residual = Residual(sizes)
        self.feed_forward = FeedForward(sizes)
        self.feed_forward_residual = Residual(sizes)

    def forward(
        self,
        x: Tensor,
        memory: KeysValues,
        memory_mask: Tensor | None = None,
        rotation: Tensor | None = None,
    ) -> Tensor:
        """All positions of [B, T, d_model] at once, each seeing only itself and earlier ones."""
        residual = self.self_attention_residual
        x = residual.after(
            x, self.self_attention(residual.before(x), causal=True, rotation=rotation)
        )
        return self.after_self_attention(x, memory, memory_mask)

    def step(
        self,
        x: Tensor,
        past: KeysValues,
        position: int,
        memory: KeysValues,
        memory_mask: Tensor | None = None,
        rotation: Tensor | None = None,
    ) -> Tensor:
        """One new position, [rows, 1, d_model]. Its key and value are written into `past`.

        The source stands once for each sentence; the rows of a sentence are its hypotheses and ask
        as if they were the positions of one sequence, which cross-attention cannot tell apart.
        """
        residual = self.self_attention_residual
        query, key, value = self.self_attention.project(residual.before(x))
        if rotation is not None:
            query, key = rotate(query, rotation), rotate(key, rotation)
        past.keys[:, :, position] = key[:, :, 0]
        past.values[:, :, position] = value[:, :, 0]
        seen = KeysValues(past.keys[:, :, : position + 1], past.values[:, :, : position + 1])
        x = residual.after(x, self.self_attention.attend(query, seen, mask=None))
        rows, sentences = x.size(0), memory.keys.size(0)
        x = x.view(sentences, rows // sentences, -1)
        return self.after_self_attention(x, memory, memory_mask).view(rows, 1, -1)

    def after_self_attention(
        self, x: Tensor, memory: KeysValues, memory_mask: Tensor | None
    ) -> Tensor:
        residual = self.cross_attention_residual
        x = residual.after(x, self.cross_attention(residual.before(x), memory, memory_mask))
        residual = self.feed_forward_residual
        return residual.after(x, self.feed_forward(residual.before(x)))
