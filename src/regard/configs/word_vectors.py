"""Settings of word vectors (Mikolov et al. 2013)."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from regard.configs.work import Work

# The words of a batch are cut into blocks, in which neighbours are found, and each group of blocks
# is compared with the same negatives.
GROUP_WORDS = 256
NEGATIVES = 64


def block_length(window: int) -> int:
    """Words of a block; the neighbours of those at its ends are cut off."""
    return 32 * -(-window // 5)


class TwoTables(BaseModel):
    """A vector for each word where it predicts, and one where it is predicted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # FLOP of training, and numbers that are kept, for each word that a word meets in its block.
    block_products: ClassVar[float]
    kept_of_block: ClassVar[float]

    kind: str
    d_model: int = Field(default=128, ge=1, le=65536, description="Numbers of a vector.")

    @property
    def depth(self) -> int:
        return 1

    def summary(self) -> str:
        return f"{self.kind}, vectors of {self.d_model} numbers"

    def training_flops(self, outputs: int, work: Work) -> float:
        """Each word that is kept meets those of its block and the negatives."""
        met = self.block_products * work.source_length + 6.0 * NEGATIVES
        return self.d_model * work.source_tokens * met

    def activation_bytes(self, work: Work, mixed: bool = False) -> float:
        """A rule, right to about a tenth."""
        numbers = 2 * self.d_model + self.kept_of_block * work.source_length + 1.6 * NEGATIVES
        return 4.0 * work.source_tokens * numbers


class SkipGramConfig(TwoTables):
    """A word predicts each of its neighbours."""

    block_products: ClassVar = 6.0
    kept_of_block: ClassVar = 1.7

    kind: Literal["skip-gram"] = Field(
        default="skip-gram", description="The model: a word predicts each of its neighbours."
    )


class CbowConfig(TwoTables):
    """The neighbours of a word together predict it: a continuous bag of words."""

    # Of their mean, the weights need no gradient.
    block_products: ClassVar = 4.0
    kept_of_block: ClassVar = 1.0

    kind: Literal["cbow"] = Field(
        default="cbow", description="The model: all neighbours of a word together predict it."
    )
