"""Settings of models made of recurrent layers: translators, language models and readers."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from regard.configs.work import Work, loss_flops
from regard.layers.choices import Cell, Nonlinearity

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
# Numbers that autograd keeps on a CPU for each token and each unit of a layer's width: reading from
# the left, and reading from both ends at half the width each.
KEPT = {"rnn": (2.25, 3.3), "gru": (8.25, 9.3), "lstm": (17.75, 24.7)}


class RecurrentCells(BaseModel):
    """The settings that all models of recurrent layers have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["recurrent"] = Field(
        default="recurrent", description="The model: recurrent layers."
    )
    cell: Cell = Field(default="lstm", description="The kind of recurrent layer.")
    nonlinearity: Nonlinearity = Field(
        default="tanh", description="Function of a plain RNN; gated cells have their own."
    )

    @model_validator(mode="after")
    def only_plain_cells_choose(self) -> "RecurrentCells":
        if self.nonlinearity != "tanh" and self.cell != "rnn":
            raise ValueError(
                f'nonlinearity = "{self.nonlinearity}" is for cell = "rnn"; leave it out '
                f'with "{self.cell}"'
            )
        return self

    @property
    def cell_name(self) -> str:
        return self.cell + (f" ({self.nonlinearity})" if self.cell == "rnn" else "")


def check_directions(d_model: int, bidirectional: bool) -> None:
    if bidirectional and d_model % 2:
        raise ValueError(
            f"d_model = {d_model} is odd, and two directions share it; "
            "make it even or set bidirectional = false"
        )


class RecurrentConfig(RecurrentCells):
    """An encoder-decoder. By default it has the size of Bahdanau's and Luong's models, but for
    their vocabularies.
    """

    encoder_layers: int = Field(default=1, ge=1, le=200, description="Layers of the encoder.")
    decoder_layers: int = Field(default=1, ge=1, le=200, description="Layers of the decoder.")
    d_model: int = Field(
        default=1000,
        ge=2,
        le=65536,
        description="Width of embeddings, states and features; two directions share it.",
    )
    bidirectional: bool = Field(
        default=True, description="Whether the encoder reads from both ends."
    )
    dropout: float = Field(
        default=0.2, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )
    attention: Literal["none", "additive", "dot"] = Field(
        default="additive", description="How the decoder looks at the source."
    )
    input_feeding: bool = Field(
        default=False,
        description='With "dot": each step also reads the features of the last one.',
    )
    tied_embeddings: Literal["all", "output", "none"] = Field(
        default="all", description="Which tables of embeddings are one and the same."
    )

    @model_validator(mode="after")
    def fits_together(self) -> "RecurrentConfig":
        check_directions(self.d_model, self.bidirectional)
        if self.input_feeding and self.attention != "dot":
            raise ValueError(
                f'input_feeding goes with attention = "dot", it is "{self.attention}", '
                "which reads its context at every step anyway"
            )
        return self

    @property
    def depth(self) -> int:
        return self.encoder_layers + self.decoder_layers

    def summary(self) -> str:
        reading = "bidirectional" if self.bidirectional else "left to right"
        looking = {"none": "no attention", "additive": "additive attention"}.get(
            self.attention, "dot-product attention"
        )
        feeding = ", input feeding" if self.input_feeding else ""
        return (
            f"recurrent, {self.cell_name}, {self.encoder_layers} + {self.decoder_layers} layers, "
            f"d_model {self.d_model}, {reading}, {looking}{feeding}"
        )

    def training_flops(self, outputs: int, work: Work) -> float:
        d = self.d_model
        square = d * d * GATES[self.cell]
        source = self.encoder_layers * square * (1.5 if self.bidirectional else 2)
        reads_more = self.attention != "dot" or self.input_feeding
        target: float = self.decoder_layers * 2 * square + square * reads_more + 3 * d * d
        if self.attention == "additive":
            source, target = source + d * d, target + d * d
        if self.attention != "none":
            target += 2 * d * work.source_length
        layers = 6.0 * (source * work.source_tokens + target * work.target_tokens)
        return layers + loss_flops(d, outputs, work.target_tokens)

    def activation_bytes(self, work: Work, mixed: bool = False) -> float:
        """A rule of thumb, right to about a fifth. Additive attention keeps a state for each word
        of the source at every step.
        """
        one_way, both_ways = KEPT[self.cell]
        source = self.encoder_layers * (both_ways if self.bidirectional else one_way)
        target = self.decoder_layers * one_way + 8
        target += work.source_length * (self.attention == "additive")
        return 4 * self.d_model * (source * work.source_tokens + target * work.target_tokens)


class RecurrentLanguageModelConfig(RecurrentCells):
    """A language model. The default is the medium model of Zaremba et al. (2014)."""

    num_layers: int = Field(default=2, ge=1, le=200, description="Layers on top of each other.")
    d_model: int = Field(default=650, ge=1, le=65536, description="Width of embeddings and states.")
    dropout: float = Field(
        default=0.5, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )
    tied_embeddings: bool = Field(
        default=True, description="Whether input and output share one table of embeddings."
    )

    @property
    def depth(self) -> int:
        return self.num_layers

    def summary(self) -> str:
        layers = f"{self.num_layers} layer" + "s" * (self.num_layers > 1)
        return f"recurrent, {self.cell_name}, {layers}, d_model {self.d_model}"

    def training_flops(self, outputs: int, work: Work) -> float:
        target = 2.0 * self.num_layers * GATES[self.cell] * self.d_model**2
        layers = 6.0 * (target * work.target_tokens)
        return layers + loss_flops(self.d_model, outputs, work.target_tokens)

    def activation_bytes(self, work: Work, mixed: bool = False) -> float:
        target = self.num_layers * KEPT[self.cell][0] + 1.5
        return 4 * self.d_model * target * work.target_tokens


class ReaderConfig(RecurrentCells):
    """A reader, whose states serve classifiers and taggers."""

    num_layers: int = Field(default=1, ge=1, le=200, description="Layers on top of each other.")
    d_model: int = Field(
        default=256,
        ge=2,
        le=65536,
        description="Width of embeddings and states; two directions share it.",
    )
    bidirectional: bool = Field(default=True, description="Whether it reads from both ends.")
    dropout: float = Field(
        default=0.5, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )

    @model_validator(mode="after")
    def fits_together(self) -> "ReaderConfig":
        check_directions(self.d_model, self.bidirectional)
        return self

    @property
    def depth(self) -> int:
        return self.num_layers

    def summary(self) -> str:
        layers = f"{self.num_layers} layer" + "s" * (self.num_layers > 1)
        reading = "bidirectional" if self.bidirectional else "left to right"
        return f"recurrent, {self.cell_name}, {layers}, d_model {self.d_model}, {reading}"

    def training_flops(self, outputs: int, work: Work) -> float:
        share = 1.5 if self.bidirectional else 2
        source = share * self.num_layers * GATES[self.cell] * self.d_model**2
        layers = 6.0 * (source * work.source_tokens)
        return layers + loss_flops(self.d_model, outputs, work.target_tokens)

    def activation_bytes(self, work: Work, mixed: bool = False) -> float:
        one_way, both_ways = KEPT[self.cell]
        source = self.num_layers * (both_ways if self.bidirectional else one_way)
        return 4 * self.d_model * source * work.source_tokens
