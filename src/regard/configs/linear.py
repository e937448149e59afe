"""Settings of a linear model of texts: weights for the words and phrases that occur in them."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from regard.configs.work import Work


class NgramConfig(BaseModel):
    """A weight for each n-gram and label: naive Bayes scales it, and logistic regression learns it
    (Wang & Manning 2012). It is found directly, not by updates.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    words: int = Field(
        default=0, ge=0, le=6, description="Longest n-gram of words that has a weight; 0 = none."
    )
    characters: int = Field(
        default=0, ge=0, le=8, description="Longest n-gram of characters, 2 or more; 0 = none."
    )
    min_texts: int = Field(
        default=2, ge=1, description="Fewest texts that an n-gram with a weight occurs in."
    )
    strength: float = Field(
        default=0.0,
        ge=0,
        description="How strongly weights are pulled to 0; 0 = as the validation set says.",
    )

    @property
    def reads(self) -> bool:
        """Whether there is a linear model at all."""
        return self.words > 0 or self.characters > 1

    def summary(self) -> str:
        parts = [f"{self.words} words"] * (self.words > 0)
        parts += [f"{self.characters} characters"] * (self.characters > 1)
        return f"linear, n-grams of up to {' and '.join(parts)}"


class LinearConfig(NgramConfig):
    """The linear model alone, without a network."""

    kind: Literal["linear"] = Field(
        default="linear", description="The model: a weight for each n-gram."
    )
    words: int = Field(
        default=3, ge=0, le=6, description="Longest n-gram of words that has a weight; 0 = none."
    )

    @model_validator(mode="after")
    def reads_something(self) -> Self:
        if not self.reads:
            raise ValueError("words = 0 and no characters leave nothing to read; raise one of them")
        return self

    @property
    def d_model(self) -> int:
        return 1

    @property
    def depth(self) -> int:
        return 1

    def training_flops(self, outputs: int, work: Work) -> float:
        """Of one look at a batch: weights are added up, and then gradients."""
        return 4.0 * outputs * self.activation_bytes(work) / 8

    def activation_bytes(self, work: Work, mixed: bool = False) -> float:
        """A number of 8 bytes for each n-gram of a text."""
        return 8.0 * work.source_tokens * (self.words + max(0, self.characters - 1))
