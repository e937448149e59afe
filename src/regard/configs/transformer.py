"""Settings of the Transformer. The paper's base model is the default (table 3)."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from regard.configs.work import Work, loss_flops
from regard.layers.choices import Activation, Norm, Normalisation


def feed_forward_weights(d_model: int, d_ff: int, activation: Activation) -> int:
    return (3 if activation == "swiglu" else 2) * d_model * d_ff


def inner_numbers(activation: Activation) -> int:
    """How many numbers a feed-forward layer keeps for each one of its inner width."""
    return {"relu": 1, "swiglu": 4}.get(activation, 2)


class TransformerConfig(BaseModel):
    """An encoder and a decoder with attention (Vaswani et al. 2017)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["transformer"] = Field(
        default="transformer", description="The model: a Transformer."
    )
    encoder_layers: int = Field(default=6, ge=1, le=200, description="Blocks of the encoder.")
    decoder_layers: int = Field(
        default=6, ge=1, le=200, description="Blocks of the decoder; fewer translate faster."
    )
    d_model: int = Field(default=512, ge=2, le=65536, description="Width of every token's vector.")
    d_ff: int = Field(
        default=2048, ge=1, le=262144, description="Inner width of the feed-forward layers."
    )
    num_heads: int = Field(default=8, ge=1, le=1024, description="Attention heads of a layer.")
    encoder_heads: tuple[int, ...] = Field(
        default=(), description="Heads left in each encoder layer of a pruned model."
    )
    decoder_heads: tuple[int, ...] = Field(
        default=(), description="Heads left in each decoder layer of a pruned model."
    )
    cross_heads: tuple[int, ...] = Field(
        default=(), description="Heads that look at the source left in each decoder layer."
    )
    dropout: float = Field(
        default=0.1, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )
    attention_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Share of the attention weights that training hides."
    )
    feed_forward_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Share hidden inside the feed-forward layers."
    )
    norm: Norm = Field(
        default="post", description="Norms after each sublayer, or before it, which trains faster."
    )
    normalisation: Normalisation = Field(default="layer", description="LayerNorm or RMSNorm.")
    activation: Activation = Field(
        default="relu", description="Function between the two feed-forward products."
    )
    positions: Literal["sinusoidal", "learned", "rotary"] = Field(
        default="sinusoidal", description="How the model knows where a token stands."
    )
    max_positions: int = Field(
        default=1024,
        ge=1,
        le=1_000_000,
        description="Longest sentence, where positions are learned.",
    )
    tied_embeddings: Literal["all", "output", "none"] = Field(
        default="all", description="Which tables of embeddings are one and the same."
    )
    output_bias: bool = Field(
        default=False, description="A logit of its own for each piece, as Marian's models have."
    )

    @model_validator(mode="after")
    def heads_fit(self) -> "TransformerConfig":
        for name, layers in (
            ("encoder_heads", self.encoder_layers),
            ("decoder_heads", self.decoder_layers),
            ("cross_heads", self.decoder_layers),
        ):
            counts = getattr(self, name)
            if counts and (
                len(counts) != layers or not all(1 <= each <= self.num_heads for each in counts)
            ):
                raise ValueError(
                    f"{name} = {list(counts)} needs a number from 1 to num_heads = "
                    f"{self.num_heads} for each of the {layers} layers; leave it out to keep all"
                )
        return self

    @property
    def d_k(self) -> int:
        return self.d_model // self.num_heads

    @property
    def depth(self) -> int:
        return self.encoder_layers + self.decoder_layers

    @property
    def pruned(self) -> bool:
        """Whether any layer has fewer heads than num_heads."""
        counts = (*self.encoder_heads, *self.decoder_heads, *self.cross_heads)
        return any(count < self.num_heads for count in counts)

    def heads(self, part: Literal["encoder", "decoder", "cross"]) -> tuple[int, ...]:
        """The number of heads in each layer of a part."""
        layers = self.encoder_layers if part == "encoder" else self.decoder_layers
        counts: tuple[int, ...] = getattr(self, f"{part}_heads")
        return counts or (self.num_heads,) * layers

    def summary(self) -> str:
        left = sum((*self.heads("encoder"), *self.heads("decoder"), *self.heads("cross")))
        return (
            f"transformer, {self.encoder_layers} + {self.decoder_layers} layers, "
            f"d_model {self.d_model}, d_ff {self.d_ff}, {self.num_heads} heads"
            + (f" ({left} left in all layers together)" if self.pruned else "")
            + f", {self.norm}-norm, {self.positions} positions, {self.activation}"
        )

    def training_flops(self, outputs: int, work: Work) -> float:
        source, target = self._weights_per_token(work.source_length, work.target_length)
        layers = 6.0 * (source * work.source_tokens + target * work.target_tokens)
        return layers + loss_flops(self.d_model, outputs, work.target_tokens)

    def _weights_per_token(self, source_length: float, target_length: float) -> tuple[float, float]:
        """Weights that a source and a target token are multiplied by, with the numbers that
        attention compares it with. The decoder's keys and values of the source count as source.
        """
        d = self.d_model
        feed_forward = feed_forward_weights(d, self.d_ff, self.activation)
        encoder = 4 * d * d + feed_forward + 2 * d * source_length
        decoder = 6 * d * d + feed_forward + 2 * d * (source_length + target_length)
        source = self.encoder_layers * encoder + self.decoder_layers * 2 * d * d
        return source, self.decoder_layers * decoder

    def activation_bytes(self, work: Work, mixed: bool = False) -> float:
        """Products keep their inputs, attention its queries, keys, values and result, norms their
        inputs, and dropout a byte for each number.
        """
        d, f = self.d_model, self.d_ff
        kept = 2 if mixed else 4
        normed = 4 * d * (2 if self.normalisation == "rms" else 1)
        norm = normed + d * (self.dropout > 0)
        attention = kept * d * (8 if self.positions == "rotary" else 5) + norm
        cross = kept * d * 3 + norm
        inner = kept * f * inner_numbers(self.activation)
        if self.feed_forward_dropout:
            # Only relu keeps its output, so that dropout's result is one more.
            inner += f + kept * f * (self.activation == "relu")
        feed_forward = kept * d + inner + norm
        ends = kept * d + d * (self.dropout > 0) + normed * (self.norm == "pre")
        source = self.encoder_layers * (attention + feed_forward) + ends
        source += self.decoder_layers * kept * 2 * d
        target = self.decoder_layers * (attention + cross + feed_forward) + ends + 4 * d
        return source * work.source_tokens + target * work.target_tokens
