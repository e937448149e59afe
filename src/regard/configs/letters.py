"""Settings of what a model knows of the letters of words, beside their pieces."""

from pydantic import BaseModel, ConfigDict, Field

# Kinds of letters and the width of their vectors. Letters beyond share their kinds.
KINDS, LETTER_WIDTH = 1024, 32
# The most letters of a piece and of a word that are read.
PIECE_LETTERS, WORD_LETTERS = 16, 24


class LettersConfig(BaseModel):
    """A convolution over the letters of each word, so that words that were never seen are known by
    their endings and capitals.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    filters: int = Field(
        default=0, ge=0, le=10_000, description="Patterns of letters to look for; 0 = none."
    )
    width: int = Field(default=3, ge=1, le=9, description="Letters that a pattern has.")

    def parameters(self, d_model: int) -> int:
        """How many there are for a model of this width."""
        if not self.filters:
            return 0
        patterns = (LETTER_WIDTH * self.width + 1) * self.filters
        return KINDS * LETTER_WIDTH + patterns + (self.filters + 1) * d_model

    def summary(self) -> str:
        return f", {self.filters} patterns of {self.width} letters" if self.filters else ""
