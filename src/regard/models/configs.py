"""What the settings of several models have in common."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from regard.layers.recurrent import Cell, Nonlinearity
from regard.layers.transformer import Activation, BlockSizes


class RecurrentCells(BaseModel):
    """Models made of recurrent layers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["recurrent"] = "recurrent"
    cell: Cell = "lstm"
    # What a plain RNN does with its sum; gated cells have their own.
    nonlinearity: Nonlinearity = "tanh"

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


class OneStack(BaseModel):
    """Models that are one stack of Transformer blocks; of the size of the first of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    num_layers: int = Field(default=12, ge=1, le=200)
    d_model: int = Field(default=768, ge=2, le=65536)
    d_ff: int = Field(default=3072, ge=1, le=262144)
    num_heads: int = Field(default=12, ge=1, le=1024)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    attention_dropout: float = Field(default=0.0, ge=0, lt=1)
    activation: Activation = "gelu"
    norm_epsilon: float = Field(default=1e-5, gt=0, le=1)

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

    def blocks_with(self, norm: Literal["pre", "post"]) -> BlockSizes:
        return BlockSizes(
            d_model=self.d_model,
            d_ff=self.d_ff,
            num_heads=self.num_heads,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            norm=norm,
            activation=self.activation,
            norm_epsilon=self.norm_epsilon,
        )
