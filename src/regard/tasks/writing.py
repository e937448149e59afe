"""How a language model is to write, and what it says of a text that is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.errors import RequestError

if TYPE_CHECKING:
    from regard.decode.contract import Filter


@dataclass(frozen=True)
class Writing:
    """The settings to continue a text.

    Attributes
    ----------
    max_tokens : int
        The most tokens to write.
    temperature : float
        0 takes the likeliest token at each step; below 1 is more cautious, above 1 more varied.
    top_k : int
        Draw from the k likeliest tokens; 0 for all.
    top_p : float
        Draw from the likeliest tokens of this total probability.
    seed : int
        The same seed draws the same text.

    Raises
    ------
    RequestError
        A value is outside its bounds.

    Examples
    --------
    >>> import regard
    >>> regard.Writing(max_tokens=20, temperature=0)
    Writing(max_tokens=20, temperature=0, top_k=0, top_p=1.0, seed=1)
    """

    max_tokens: int = 200
    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        checks = {
            "max_tokens must be from 0 to 1000000": 0 <= self.max_tokens <= 1_000_000,
            "temperature must be 0, or from 0.001 to 100": self.temperature == 0
            or 0.001 <= self.temperature <= 100,
            "top_k must not be negative": self.top_k >= 0,
            "top_p must be above 0 and at most 1": 0 < self.top_p <= 1,
            "seed must be from 0 to 2^63 - 1": 0 <= self.seed < 2**63,
        }
        for sentence, holds in checks.items():
            if not holds:
                raise RequestError(f"{sentence}; see `regard generate --help`")

    def filters(self, never: Sequence[int]) -> "list[Filter]":
        """The filters of the tokens, in the order they apply."""
        from regard.decode import filters

        chosen = [filters.forbid(never)]
        if self.temperature:
            chosen.append(filters.temperature(self.temperature))
        if self.top_k:
            chosen.append(filters.top_k(self.top_k))
        if self.top_p < 1:
            chosen.append(filters.top_p(self.top_p))
        return chosen


@dataclass(frozen=True, repr=False)
class ScoredToken:
    """A piece of a text and its log-probability given all before it that the model can see."""

    piece: str
    log_probability: float

    def __repr__(self) -> str:
        return f"ScoredToken({self.piece!r}, {self.log_probability:.3f})"
