"""The settings that GPT and BERT share: one stack of Transformer blocks with self-attention."""

from pydantic import BaseModel, ConfigDict, Field, model_validator

from regard.configs.transformer import feed_forward_weights, inner_numbers
from regard.configs.work import Work, loss_flops
from regard.layers.choices import Activation


class OneStack(BaseModel):
    """A stack of Transformer blocks. The default is the size of the first GPT and of BERT."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    num_layers: int = Field(default=12, ge=1, le=200, description="Blocks on top of each other.")
    d_model: int = Field(default=768, ge=2, le=65536, description="Width of every token's vector.")
    d_ff: int = Field(
        default=3072, ge=1, le=262144, description="Inner width of the feed-forward layers."
    )
    num_heads: int = Field(default=12, ge=1, le=1024, description="Attention heads of a layer.")
    dropout: float = Field(
        default=0.1, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )
    attention_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="Share of the attention weights that training hides."
    )
    activation: Activation = Field(
        default="gelu", description="Function between the two feed-forward products."
    )
    norm_epsilon: float = Field(
        default=1e-5, gt=0, le=1, description="Small number that keeps norms from dividing by 0."
    )

    @model_validator(mode="after")
    def heads_share_the_width(self) -> "OneStack":
        if self.d_model % self.num_heads:
            raise ValueError(
                f"d_model {self.d_model} is not a multiple of num_heads {self.num_heads}"
            )
        return self

    @property
    def sizes(self) -> str:
        return (
            f"{self.num_layers} layers, d_model {self.d_model}, d_ff {self.d_ff}, "
            f"{self.num_heads} heads"
        )

    @property
    def depth(self) -> int:
        return self.num_layers

    def stack_flops(self, outputs: int, work: Work, tokens: float, length: float) -> float:
        """Flops where `tokens` pass through the stack, each attending to `length` others."""
        d = self.d_model
        feed_forward = feed_forward_weights(d, self.d_ff, self.activation)
        weights = self.num_layers * (4 * d * d + feed_forward + 2 * d * length)
        return 6.0 * (weights * tokens) + loss_flops(d, outputs, work.target_tokens)

    def stack_bytes(self, tokens: float, mixed: bool, rotary: bool = False) -> float:
        """Bytes that the stack keeps of these tokens for the backward pass."""
        d, kept = self.d_model, 2 if mixed else 4
        norm = 4 * d + d * (self.dropout > 0)
        attention = kept * d * (8 if rotary else 5) + norm
        inner = kept * self.d_ff * inner_numbers(self.activation)
        ends = kept * d + norm + 4 * d
        return tokens * (self.num_layers * (attention + kept * d + inner + norm) + ends)
