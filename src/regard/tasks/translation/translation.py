"""A translation, and the translations of the parts of a long text as one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from regard.decode.hypothesis import Hypothesis
from regard.tasks.translation.confidence import Confidence, least_sure
from regard.text.memory import Match
from regard.text.terms import TermUse
from regard.text.tokenizer import Tokenizer


@dataclass(frozen=True, repr=False)
class Translation:
    """A translation with what is known of it.

    Attributes
    ----------
    text : str
    score : float
        The mean log-probability that ranks it.
    tokens : list of str
        The pieces that were written, and END if it is finished.
    log_probabilities : list of float
        Of each piece.
    finished : bool
        Whether the model ended it, or it became too long.
    ids : list of int
        The pieces as numbers, which `maps` and `align` take exactly.
    unseen_words : list of str
        The words of the source that were never seen in training; none in a run that does not know.
    marks : str or None
        How tags and placeholders found their places: `"kept"` by the model, `"aligned"` by its
        attention, or `"guessed"` by where they were; None in a text without any.
    alignment : list of (source word, target word), or None
        Of a text with tags, placeholders or terms, as the model read and wrote it.
    terms : list of TermUse
        The terms of a glossary that the text has, each with its source, its target and how it was
        found: `"written"` by the model, `"replaced"` where the model wrote other words, or
        `"missing"`.
    match : Match or None
        The text of a translation memory that is most like the source, with its translation and how
        many percent of it are the same; a translation with 100 is taken from there.
    confidence : Confidence or None
        How likely it is to be good, and each of its words; None in a run that is not calibrated.
    """

    text: str
    score: float
    tokens: list[str]
    log_probabilities: list[float]
    finished: bool
    ids: list[int] = field(default_factory=list)
    unseen_words: list[str] = field(default_factory=list)
    marks: str | None = None
    alignment: list[tuple[int, int]] | None = None
    terms: list[TermUse] = field(default_factory=list)
    match: Match | None = None
    confidence: Confidence | None = None

    @classmethod
    def taken(cls, match: Match) -> Self:
        """A translation from a memory, which no model has made."""
        return cls(match.target, 0.0, [], [], finished=True, match=match)

    @classmethod
    def of(cls, hypothesis: Hypothesis, tokenizer: Tokenizer) -> Self:
        """What a search has found, as text."""
        return cls(
            text=tokenizer.decode(hypothesis.tokens),
            score=hypothesis.score,
            tokens=tokenizer.pieces(hypothesis.tokens),
            log_probabilities=hypothesis.log_probabilities,
            finished=hypothesis.finished,
            ids=hypothesis.tokens,
        )

    def __repr__(self) -> str:
        return f"Translation({self.text!r}, score {self.score:.3f})"

    def _repr_html_(self) -> str:
        from regard import notebook

        pieces = [each.replace("▁", " ") for each in self.tokens]
        chances = [math.exp(each) for each in self.log_probabilities]
        return notebook.weighed(zip(pieces, chances, strict=False))


def joined(parts: Sequence[list[Translation]]) -> list[Translation]:
    """The translations of a text's parts as translations of the text, rank by rank."""
    if len(parts) == 1:
        return parts[0]
    return [
        Translation(
            text=" ".join(each.text for each in ranked if each.text),
            score=sum(each.score for each in ranked) / len(ranked),
            tokens=[token for each in ranked for token in each.tokens],
            log_probabilities=[value for each in ranked for value in each.log_probabilities],
            finished=all(each.finished for each in ranked),
            ids=[token for each in ranked for token in each.ids],
            unseen_words=[*dict.fromkeys(word for each in ranked for word in each.unseen_words)],
            confidence=least_sure([each.confidence for each in ranked]),
        )
        for ranked in zip(*parts, strict=False)
    ]


def of_source(unseen_words: list[str], found: list[Translation]) -> list[Translation]:
    """The translations of a source with these words that were never seen in training."""
    if not unseen_words:
        return found
    return [replace(each, unseen_words=unseen_words) for each in found]
