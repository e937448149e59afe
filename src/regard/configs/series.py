"""Settings of models that forecast series."""

from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from regard.configs.recurrent import RecurrentCells
from regard.configs.stack import OneStack
from regard.layers.choices import Head, Scaling

Way = Literal["direct", "paths"]

HEAD = "A value that is not known: gaussian, student (heavier tails), or quantiles."
SCALING = "Windows are scaled by mean and deviation, last value and deviation, or mean size."
PATCH = "Steps that the model reads as one; it divides data.context."
WAY = "All steps at once (direct), or one patch after the other by drawing (paths)."


class SeriesSizes(NamedTuple):
    """What the data decides."""

    context: int  # steps that a model reads
    horizon: int  # steps that it forecasts
    known: int  # columns that are known for all of them
    season: int  # steps after which values come again; 1 if they do not


class SeriesLinearConfig(BaseModel):
    """One linear map from the past to the future: what other models are compared with. With
    scaling = "last" it is NLinear (Zeng et al. 2023).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["linear"] = Field(default="linear", description="The model: one linear map.")
    head: Head = Field(default="student", description=HEAD)
    scaling: Scaling = Field(default="last", description=SCALING)

    @property
    def depth(self) -> int:
        return 1

    def summary(self) -> str:
        return f"linear, {self.head} head, scaled by {self.scaling}"


class SeriesRecurrentConfig(RecurrentCells):
    """Recurrent layers that read a series patch by patch: with patches of one step and `paths`, it
    is p(y_t | h_t) with h_t = f(h_{t-1}, y_{t-1}) (Salinas et al. 2020).
    """

    cell: Literal["rnn", "gru", "lstm"] = Field(
        default="gru", description="The kind of recurrent layer."
    )
    num_layers: int = Field(default=1, ge=1, le=200, description="Layers on top of each other.")
    d_model: int = Field(default=128, ge=1, le=65536, description="Width of states.")
    dropout: float = Field(
        default=0.1, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )
    patch_size: int = Field(default=24, ge=1, le=10_000, description=PATCH)
    forecast: Way = Field(default="direct", description=WAY)
    head: Head = Field(default="quantiles", description=HEAD)
    scaling: Scaling = Field(default="last", description=SCALING)

    @property
    def depth(self) -> int:
        return self.num_layers

    def summary(self) -> str:
        layers = f"{self.num_layers} layer" + "s" * (self.num_layers > 1)
        return (
            f"recurrent, {self.cell_name}, {layers}, d_model {self.d_model}, patches of "
            f"{self.patch_size}, {self.forecast}, {self.head} head, scaled by {self.scaling}"
        )


class SeriesTransformerConfig(OneStack):
    """A Transformer that reads a series as a sequence of patches (Nie et al. 2023). The future is
    in the sequence as well, with its values hidden.
    """

    kind: Literal["transformer"] = Field(
        default="transformer", description="The model: a Transformer over patches."
    )
    num_layers: int = Field(default=3, ge=1, le=200, description="Blocks on top of each other.")
    d_model: int = Field(default=64, ge=2, le=65536, description="Width of every patch's vector.")
    d_ff: int = Field(
        default=128, ge=1, le=262144, description="Inner width of the feed-forward layers."
    )
    num_heads: int = Field(default=4, ge=1, le=1024, description="Attention heads of a layer.")
    dropout: float = Field(
        default=0.1, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )
    patch_size: int = Field(default=24, ge=1, le=10_000, description=PATCH)
    forecast: Way = Field(default="direct", description=WAY)
    head: Head = Field(default="quantiles", description=HEAD)
    scaling: Scaling = Field(default="standard", description=SCALING)

    def summary(self) -> str:
        return (
            f"transformer, {self.sizes}, patches of {self.patch_size}, {self.forecast}, "
            f"{self.head} head, scaled by {self.scaling}"
        )


SeriesConfig = SeriesLinearConfig | SeriesRecurrentConfig | SeriesTransformerConfig
