"""Settings of the decoders that describe an image."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from regard.configs.recurrent import GATES, KEPT, RecurrentCells
from regard.configs.transformer import feed_forward_weights, inner_numbers
from regard.configs.work import Work, loss_flops
from regard.layers.choices import Activation

# Numbers that autograd keeps for each token and each unit of the width: the first layer is computed
# step by step, since it looks at the image before each; with all that is not a layer.
FIRST = {"rnn": 6, "gru": 12, "lstm": 12}


class RecurrentCaptionerConfig(RecurrentCells):
    """Recurrent layers that look at the grid of an image before each word (Xu et al. 2015), or that
    start from one vector of the whole image (Vinyals et al. 2015).
    """

    num_layers: int = Field(default=1, ge=1, le=200, description="Layers on top of each other.")
    d_model: int = Field(
        default=512, ge=2, le=65536, description="Width of embeddings, states and features."
    )
    attention: Literal["none", "additive"] = Field(
        default="additive",
        description="How the decoder looks at the image: cell by cell, or only as a whole.",
    )
    dropout: float = Field(
        default=0.3, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )
    tied_embeddings: bool = Field(
        default=True, description="Whether input and output share one table of embeddings."
    )

    @property
    def depth(self) -> int:
        return self.num_layers

    @property
    def looks_at(self) -> Literal["grid", "whole"]:
        return "whole" if self.attention == "none" else "grid"

    def summary(self) -> str:
        layers = f"{self.num_layers} layer" + "s" * (self.num_layers > 1)
        looking = "no attention" if self.attention == "none" else "additive attention"
        return f"recurrent, {self.cell_name}, {layers}, d_model {self.d_model}, {looking}"

    @property
    def state_parts(self) -> int:
        """How many vectors all layers begin with."""
        return self.num_layers * (2 if self.cell == "lstm" else 1)

    def training_flops(self, outputs: int, work: Work) -> float:
        d = self.d_model
        square = d * d * GATES[self.cell]
        images = work.source_tokens / work.source_length
        target: float = (2 * self.num_layers + 1) * square + 3 * d * d
        source = 0
        if self.attention == "additive":
            source, target = d * d, target + d * d + 2 * d * work.source_length
        starts = images * self.state_parts * d * d
        layers = 6.0 * (source * work.source_tokens + starts + target * work.target_tokens)
        return layers + loss_flops(d, outputs, work.target_tokens)

    def activation_bytes(self, work: Work, mixed: bool = False) -> float:
        """A rule of thumb. Additive attention keeps a state for each cell at every step."""
        target = FIRST[self.cell] + (self.num_layers - 1) * KEPT[self.cell][0]
        target += (work.source_length + 2) * (self.attention == "additive")
        return 4 * self.d_model * (target * work.target_tokens + work.source_tokens)


class TransformerCaptionerConfig(BaseModel):
    """The decoder of a Transformer, with attention to the grid of an image."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["transformer"] = Field(
        default="transformer", description="The model: the decoder of a Transformer."
    )
    num_layers: int = Field(default=3, ge=1, le=200, description="Blocks of the decoder.")
    d_model: int = Field(default=256, ge=2, le=65536, description="Width of every token's vector.")
    d_ff: int = Field(
        default=1024, ge=1, le=262144, description="Inner width of the feed-forward layers."
    )
    num_heads: int = Field(default=4, ge=1, le=1024, description="Attention heads of a layer.")
    dropout: float = Field(
        default=0.2, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )
    activation: Activation = Field(
        default="gelu", description="Function between the two feed-forward products."
    )
    tied_embeddings: bool = Field(
        default=True, description="Whether input and output share one table of embeddings."
    )

    @model_validator(mode="after")
    def heads_share_the_width(self) -> "TransformerCaptionerConfig":
        if self.d_model % self.num_heads:
            raise ValueError(
                f"d_model = {self.d_model} is not a multiple of num_heads = {self.num_heads}"
            )
        return self

    @property
    def depth(self) -> int:
        return self.num_layers

    @property
    def looks_at(self) -> Literal["grid", "whole"]:
        return "grid"

    def summary(self) -> str:
        return (
            f"transformer, {self.num_layers} layers, d_model {self.d_model}, d_ff {self.d_ff}, "
            f"{self.num_heads} heads, {self.activation}"
        )

    def training_flops(self, outputs: int, work: Work) -> float:
        d = self.d_model
        inner = feed_forward_weights(d, self.d_ff, self.activation)
        block = 6 * d * d + inner + 2 * d * (work.source_length + work.target_length)
        source = 2 * d * d * work.source_tokens
        layers = 6.0 * self.num_layers * (source + block * work.target_tokens)
        return layers + loss_flops(d, outputs, work.target_tokens)

    def activation_bytes(self, work: Work, mixed: bool = False) -> float:
        """The same as a Transformer's decoder keeps."""
        d, kept = self.d_model, 2 if mixed else 4
        norm = 4 * d + d * (self.dropout > 0)
        inner = kept * self.d_ff * inner_numbers(self.activation)
        block = kept * 9 * d + inner + 3 * norm
        ends = kept * d + norm + 4 * d
        source = self.num_layers * kept * 2 * d
        target = self.num_layers * block + ends
        return source * work.source_tokens + target * work.target_tokens
