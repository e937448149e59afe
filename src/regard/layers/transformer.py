"""Encoder and decoder blocks (§3.1), with the choices that later work added.

Shapes: B sentences, S source length, T target length, d_model.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.layers.attention import CrossAttention, SelfAttention, SharedKeysValues
from regard.layers.choices import Activation, Norm, Normalisation
from regard.layers.dropout import Dropout
from regard.layers.first import attend_first
from regard.layers.linear import Linear


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
    # Given if heads were removed: how many heads cross-attention has, and the width of every head.
    cross_heads: int | None = None
    d_k: int | None = None
    norm_epsilon: float = 1e-5  # of layer normalisation

    def normaliser(self) -> nn.Module:
        if self.normalisation == "rms":
            return RMSNorm(self.d_model, eps=1e-6)
        return nn.LayerNorm(self.d_model, eps=self.norm_epsilon)


class RMSNorm(nn.RMSNorm):
    """As nn.RMSNorm, computed in the type of its weights."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.to(self.weight.dtype)).to(x.dtype)


def activate(hidden: Tensor, activation: Activation) -> Tensor:
    """[…, d] → […, d]; SwiGLU → […, d / 2], since one half is the gate of the other."""
    match activation:
        case "swiglu":
            gate, value = hidden.chunk(2, dim=-1)
            return F.silu(gate) * value
        case "gelu":
            return F.gelu(hidden)
        case "gelu_tanh":
            return F.gelu(hidden, approximate="tanh")
        case "quick_gelu":
            return hidden * torch.sigmoid(1.702 * hidden)
        case "swish":
            return F.silu(hidden)
        case "relu":
            return F.relu(hidden)


class FeedForward(nn.Module):
    """Two linear maps with a non-linearity between (§3.3); SwiGLU has a third as a gate."""

    def __init__(self, sizes: BlockSizes) -> None:
        super().__init__()
        self.activation = sizes.activation
        gates = 2 if sizes.activation == "swiglu" else 1
        self.inner = Linear(sizes.d_model, gates * sizes.d_ff)
        self.outer = Linear(sizes.d_ff, sizes.d_model)
        self.dropout = Dropout(sizes.feed_forward_dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = activate(self.inner(x), self.activation)
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
    """Self-attention and a feed-forward network. A decoder without a source is made of these,
    too.
    """

    def __init__(self, sizes: BlockSizes) -> None:
        super().__init__()
        self.self_attention = SelfAttention(
            sizes.d_model, sizes.num_heads, sizes.attention_dropout, sizes.d_k
        )
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

    def first(self, x: Tensor) -> Tensor:
        """[B, T, d_model] → [B, d_model]: the first position of the output alone, for a fraction of
        the work; only rounding differs.
        """
        residual = self.self_attention_residual
        first = attend_first(self.self_attention, residual.before(x))
        first = residual.after(x[:, 0], first)
        residual = self.feed_forward_residual
        return residual.after(first, self.feed_forward(residual.before(first)))

    def step(
        self, x: Tensor, cache: SharedKeysValues, new: Tensor, rotation: Tensor | None = None
    ) -> Tensor:
        """Read one more position of each row, [B * W, d_model] → [B * W, d_model]; see
        SelfAttention.step.
        """
        residual = self.self_attention_residual
        x = residual.after(x, self.self_attention.step(residual.before(x), cache, new, rotation))
        residual = self.feed_forward_residual
        return residual.after(x, self.feed_forward(residual.before(x)))


class DecoderBlock(nn.Module):
    """Self-attention, cross-attention to the source, and a feed-forward network."""

    def __init__(self, sizes: BlockSizes) -> None:
        super().__init__()
        self.self_attention = SelfAttention(
            sizes.d_model, sizes.num_heads, sizes.attention_dropout, sizes.d_k
        )
        self.self_attention_residual = Residual(sizes)
        self.cross_attention = CrossAttention(
            sizes.d_model,
            sizes.cross_heads or sizes.num_heads,
            sizes.attention_dropout,
            sizes.d_k,
        )
        self.cross_attention_residual = Residual(sizes)
        self.feed_forward = FeedForward(sizes)
        self.feed_forward_residual = Residual(sizes)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        rotation: Tensor | None = None,
    ) -> Tensor:
        """Read all positions of [B, T, d_model] at once. Each sees itself, earlier ones, and all of
        the memory [B, S, d_model].
        """
        residual = self.self_attention_residual
        x = residual.after(
            x, self.self_attention(residual.before(x), causal=True, rotation=rotation)
        )
        keys_values = self.cross_attention.project_memory(memory)
        residual = self.cross_attention_residual
        x = residual.after(x, self.cross_attention(residual.before(x), keys_values, memory_mask))
        residual = self.feed_forward_residual
        return residual.after(x, self.feed_forward(residual.before(x)))

    def step(
        self,
        x: Tensor,
        cache: SharedKeysValues,
        new: Tensor,
        memory: SharedKeysValues,
        rotation: Tensor | None = None,
    ) -> Tensor:
        """Read one more position of each row, [B * W, d_model] → [B * W, d_model]; see the `step`
        of both attentions.
        """
        residual = self.self_attention_residual
        x = residual.after(x, self.self_attention.step(residual.before(x), cache, new, rotation))
        residual = self.cross_attention_residual
        looked = self.cross_attention.step(residual.before(x), memory, new.size(1), cache.position)
        x = residual.after(x, looked)
        residual = self.feed_forward_residual
        return residual.after(x, self.feed_forward(residual.before(x)))
