"""How to look for an output, whatever engine looks for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.errors import RequestError
from regard.text.tokenizer import Specials

if TYPE_CHECKING:
    from regard.decode.contract import Filter


@dataclass(frozen=True)
class Search:
    """How to look for a translation: with a beam, unless a temperature asks for sampling.

    Attributes
    ----------
    beam_size : int
        Hypotheses kept at each step; 1 is greedy search.
    n_best : int
        Translations of each text.
    length_penalty : float
        0 prefers short outputs; 1 compares the mean over tokens.
    max_length_ratio : float
        An output may be this many times as long as its source.
    min_length : int
        The fewest pieces of an output.
    no_repeat_ngram : int
        Do not repeat any sequence of this many pieces; 0 allows it.
    temperature : float or None
        Draw at random: below 1 is more cautious, above 1 more varied.
    top_k : int
        With a temperature: draw from the k likeliest pieces.
    top_p : float
        With a temperature: draw from the likeliest pieces of this total probability.
    seed : int
        With a temperature: the same seed draws the same text.

    Raises
    ------
    RequestError
        A value is outside its bounds.

    Examples
    --------
    >>> import regard
    >>> search = regard.Search(beam_size=5, n_best=3)
    >>> found = regard.load("runs/demo").translations(["Jane visite l'Afrique."], search)
    >>> len(found[0])
    3
    """

    beam_size: int = 5
    n_best: int = 1
    length_penalty: float = 1.0
    max_length_ratio: float = 2.0
    min_length: int = 0
    no_repeat_ngram: int = 0
    temperature: float | None = None
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        checks = {
            "beam_size must be from 1 to 1000": 1 <= self.beam_size <= 1000,
            "n_best must be from 1 to 1000": 1 <= self.n_best <= 1000,
            "length_penalty must be from 0 to 10": 0 <= self.length_penalty <= 10,
            "max_length_ratio must be above 0 and at most 100": 0 < self.max_length_ratio <= 100,
            "min_length must be from 0 to 100000": 0 <= self.min_length <= 100_000,
            "no_repeat_ngram must not be negative": self.no_repeat_ngram >= 0,
            "temperature must be from 0.001 to 100": self.temperature is None
            or 0.001 <= self.temperature <= 100,
            "top_k must not be negative": self.top_k >= 0,
            "top_p must be above 0 and at most 1": 0 < self.top_p <= 1,
            "top_k and top_p need a temperature": self.temperature is not None
            or (self.top_k == 0 and self.top_p == 1.0),
            "n_best must not be larger than beam_size": self.temperature is not None
            or self.n_best <= self.beam_size,
            "seed must be from 0 to 2^63 - 1": 0 <= self.seed < 2**63,
        }
        for sentence, holds in checks.items():
            if not holds:
                raise RequestError(f"{sentence}; see `regard translate --help`")

    def filters(self, specials: Specials) -> "list[Filter]":
        """In the order they apply: what may be said at all, then how boldly it is drawn."""
        from regard.decode import filters  # PyTorch, which not every engine needs

        chosen = [filters.forbid(specials.never)]
        if self.min_length:
            chosen.append(filters.min_length(self.min_length, specials.end))
        if self.no_repeat_ngram:
            chosen.append(filters.no_repeat_ngram(self.no_repeat_ngram))
        if self.temperature is not None:
            chosen.append(filters.temperature(self.temperature))
        if self.top_k:
            chosen.append(filters.top_k(self.top_k))
        if self.top_p < 1:
            chosen.append(filters.top_p(self.top_p))
        return chosen
