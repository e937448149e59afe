"""Settings of the layer that predicts labels from the features of a reader."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class HeadConfig(BaseModel):
    """Settings of how the features of a unit's tokens become one vector, and then a label."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pooling: Literal["mean", "first"] = Field(
        default="mean",
        description="The mean over the tokens of a text or word, or its first token.",
    )
    dropout: float = Field(
        default=0.1, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )
