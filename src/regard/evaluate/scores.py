"""Translation scores over sacreBLEU, each with its signature and, if asked, its interval."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from regard.errors import DataError

Metric = Literal["BLEU", "BLEU lower-cased", "chrF", "TER", "exact"]
METRICS: tuple[Metric, ...] = ("BLEU", "BLEU lower-cased", "chrF", "TER", "exact")

# Languages without spaces, in which 13a finds no words. sacreBLEU's own choice for Japanese and
# Korean needs a further package; characters need none, and the signature shows it.
_CHINESE = {"zh", "zho", "chi", "cmn", "yue"}
_BY_CHARACTER = {"ja", "jpn", "ko", "kor", "th", "tha", "lo", "lao", "km", "khm", "my", "mya"}


class _PlainFloats:
    """Gives all scores of sacreBLEU one type. Where some resamples match nothing, it mixes two,
    and the mean over them fails.
    """

    def _compute_score_from_stats(self, stats: list[Any]) -> Any:
        score = super()._compute_score_from_stats(stats)  # type: ignore[misc]
        score.score = float(score.score)
        return score


class _Bleu(_PlainFloats, BLEU):
    pass


class _Chrf(_PlainFloats, CHRF):
    pass


class _Ter(_PlainFloats, TER):
    pass


@dataclass(frozen=True, slots=True)
class Score:
    """A score of a whole corpus; low and high bound its 95 % bootstrap interval."""

    name: Metric
    value: float  # per cent; lower is better for TER, higher for the others
    low: float | None
    high: float | None
    signature: str


def corpus_scores(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    metrics: Sequence[Metric] = METRICS,
    bootstrap: int = 0,
    seed: int = 12345,
    language: str | None = None,
) -> list[Score]:
    """Score translations against references, exactly as sacreBLEU does.

    Parameters
    ----------
    hypotheses
        Translations.
    references
        What they should have been, one for each.
    metrics
        Which scores, in that order. TER needs about a minute for a thousand lines of 60 words:
        leave it out where that is too long.
    bootstrap
        Resamples for the intervals: 1,000 is usual, 0 gives none.
    seed
        The same seed gives the same intervals.
    language
        The code of the references' language, which decides how words are found.

    Returns
    -------
    list of Score
        Each with its value, interval and signature.

    Raises
    ------
    DataError
        There are not as many references as translations, or none.

    Examples
    --------
    >>> import regard
    >>> chrf, exact = regard.corpus_scores(["the cat"], ["the cat"], metrics=["chrF", "exact"])
    >>> exact.value
    100.0
    """
    check_lines(hypotheses, references)
    return [
        _exact(hypotheses, references, bootstrap, seed)
        if name == "exact"
        else _sacrebleu_score(name, hypotheses, references, bootstrap, seed, language)
        for name in metrics
    ]


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, language: str | None = None
) -> float:
    """Cased BLEU alone, for watching a training run."""
    return corpus_scores(hypotheses, references, metrics=["BLEU"], language=language)[0].value


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """chrF alone."""
    return corpus_scores(hypotheses, references, metrics=["chrF"])[0].value


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """The chrF of each sentence."""
    metric = _Chrf()
    return [
        float(metric.sentence_score(hypothesis, [reference]).score)
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]


def check_lines(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise DataError(
            f"scores: {len(hypotheses)} translations for {len(references)} references; "
            "give one line of each for every sentence"
        )
    if not hypotheses:
        raise DataError("scores: got no sentences to score; give at least one line")


def _sacrebleu_score(
    name: Metric,
    hypotheses: Sequence[str],
    references: Sequence[str],
    bootstrap: int,
    seed: int,
    language: str | None,
) -> Score:
    metric = metric_of(name, language)
    with sacrebleu_seed(seed):
        score = metric.corpus_score(hypotheses, [references], n_bootstrap=max(1, bootstrap))
    value, signature = float(score.score), str(metric.get_signature())
    if bootstrap <= 1:
        return Score(name, value, None, None, signature)
    # sacreBLEU keeps the interval as its centre and half its width.
    return Score(
        name, value, float(score._mean - score._ci), float(score._mean + score._ci), signature
    )


def _code(language: str | None) -> str:
    return re.split("[-_]", (language or "").lower())[0]


def is_unspaced(language: str | None) -> bool:
    """Whether a language is written without spaces between words."""
    return _code(language) in _CHINESE | _BY_CHARACTER


def metric_of(name: Metric, language: str | None) -> BLEU | CHRF | TER:
    code = _code(language)
    unspaced = is_unspaced(language)
    match name:
        case "chrF":
            return _Chrf()
        case "TER":
            return _Ter(normalized=unspaced, asian_support=unspaced)
    tokenize = "zh" if code in _CHINESE else "char" if code in _BY_CHARACTER else "13a"
    # force: do not check whether the text looks tokenised
    return _Bleu(lowercase=name == "BLEU lower-cased", tokenize=tokenize, force=True)


@contextmanager
def sacrebleu_seed(seed: int) -> Iterator[None]:
    """Set the seed of sacreBLEU, which reads it from the environment only."""
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before


def _exact(
    hypotheses: Sequence[str], references: Sequence[str], bootstrap: int, seed: int
) -> Score:
    """The share of sentences equal to their reference, white space at the ends aside."""
    equal = np.array(
        [one.strip() == other.strip() for one, other in zip(hypotheses, references, strict=True)]
    )
    signature = "nrefs:1|case:mixed|tok:none"
    value = 100 * float(equal.mean())
    if bootstrap <= 1:
        return Score("exact", value, None, None, signature)
    # A resample of n sentences holds a binomial number of equal ones.
    counts = np.random.default_rng(seed).binomial(len(equal), equal.mean(), size=bootstrap)
    low, high = np.percentile(100 * counts / len(equal), [2.5, 97.5])
    signature = f"nrefs:1|bs:{bootstrap}|seed:{seed}|case:mixed|tok:none"
    return Score("exact", value, float(low), float(high), signature)
