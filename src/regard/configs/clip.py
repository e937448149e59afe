"""Settings of the space in which images and texts are compared (Radford et al. 2021), and of the
simplest reader of texts.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from regard.configs.work import Work


class SharedSpaceConfig(BaseModel):
    """Settings of the vectors of images and texts, and of how sharply they are compared."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    width: int = Field(
        default=256, ge=1, le=65536, description="Numbers of a vector of an image or a text."
    )
    dropout: float = Field(
        default=0.1, ge=0, lt=1, description="Share of the features that training hides at random."
    )
    temperature: float = Field(
        default=0.07,
        ge=0.01,
        le=10,
        description="How sharply similarities are compared at first; training changes it.",
    )
    largest_scale: float = Field(
        default=100.0,
        gt=0,
        le=1e6,
        description="Most that similarities are multiplied by before they are compared.",
    )


class BagConfig(BaseModel):
    """A reader that knows which words a text has, but not their order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["bag"] = Field(default="bag", description="The model: a bag of words.")
    d_model: int = Field(default=300, ge=1, le=65536, description="Width of a word's vector.")
    dropout: float = Field(
        default=0.2, ge=0, lt=1, description="Share of the numbers that training hides at random."
    )

    @property
    def depth(self) -> int:
        return 1

    def summary(self) -> str:
        return f"bag of words, d_model {self.d_model}"

    def training_flops(self, outputs: int, work: Work) -> float:
        """Vectors are only looked up and added."""
        return 0.0

    def activation_bytes(self, work: Work, mixed: bool = False) -> float:
        return (4 * self.d_model + self.d_model * (self.dropout > 0)) * work.source_tokens
