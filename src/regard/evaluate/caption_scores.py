"""Scores of captions, with the two controls without which they say little: the same captions with
the images shuffled, and one sentence for all images.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from regard.evaluate.cider import Cider, counts_of, words_of
from regard.evaluate.scores import sacrebleu_seed

Interval = tuple[float | None, float | None]

ORDERS = (1, 2, 3, 4)
# Sentences that are scored in full, of all that are candidates.
TRIED = 20
MOST_CANDIDATES = 20_000


@dataclass(frozen=True)
class CaptionScores:
    bleu: tuple[float, float, float, float]  # BLEU-1 to BLEU-4
    cider: float


class CaptionReferences:
    """What people wrote of some images, to score other captions of them by."""

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        self.references = references
        most = max(map(len, references))
        # sacreBLEU takes one list for each number of a reference, and None where there is none.
        self.streams = [
            [each[number] if number < len(each) else None for each in references]
            for number in range(most)
        ]
        self.cider = Cider([[words_of(text) for text in each] for each in references])

    @cached_property
    def metric(self) -> BLEU:
        """sacreBLEU's BLEU, lower-cased, which remembers the references."""
        return BLEU(lowercase=True, force=True, references=self.streams)  # type: ignore[arg-type]

    @property
    def signature(self) -> str:
        return str(self.metric.get_signature())

    def bleu(self, captions: Sequence[str]) -> tuple[float, float, float, float]:
        """BLEU-1 to BLEU-4, by the precisions of which BLEU is made."""
        found = self.metric.corpus_score(list(captions), None)
        logs = [math.log(each) if each > 0 else -math.inf for each in found.precisions]
        first, second, third, fourth = (
            found.bp * math.exp(sum(logs[:order]) / order) for order in ORDERS
        )
        return first, second, third, fourth

    def scores(self, captions: Sequence[str]) -> CaptionScores:
        found = self.cider.scores([words_of(text) for text in captions])
        return CaptionScores(self.bleu(captions), float(found.mean()))

    def bleu_interval(self, captions: Sequence[str], bootstrap: int, seed: int = 12345) -> Interval:
        """The 95 % interval of BLEU-4, as sacreBLEU finds it."""
        if bootstrap <= 1:
            return None, None
        with sacrebleu_seed(seed):
            found = self.metric.corpus_score(list(captions), None, n_bootstrap=bootstrap)
        return float(found._mean - found._ci), float(found._mean + found._ci)

    def cider_interval(
        self, captions: Sequence[str], bootstrap: int, seed: int = 12345
    ) -> Interval:
        """The 95 % interval of CIDEr-D over the images."""
        if bootstrap <= 1:
            return None, None
        each = self.cider.scores([words_of(text) for text in captions])
        random = np.random.default_rng(seed)
        means = [random.choice(each, len(each)).mean() for _ in range(bootstrap)]
        low, high = np.percentile(means, [2.5, 97.5])
        return float(low), float(high)

    def shuffled(self, captions: Sequence[str], seed: int = 1) -> list[str]:
        """The captions as if images had changed places, so that none has its own."""
        order = np.random.default_rng(seed).permutation(len(captions))
        moved = [""] * len(captions)
        for place, other in zip(order, np.roll(order, 1), strict=True):
            moved[place] = captions[other]
        return moved

    def best_sentence(self, captions: Sequence[str] = ()) -> str:
        """The sentence that scores best if it is said of every image, among all references and the
        captions.
        """
        candidates = dict.fromkeys(
            [*captions, *(text for each in self.references for text in each)]
        )
        ranked = sorted(list(candidates)[:MOST_CANDIDATES], key=self._expected, reverse=True)
        count = len(self.references)
        return max(ranked[:TRIED], key=lambda text: self.bleu([text] * count)[3])

    def _expected(self, text: str) -> float:
        """About the logarithm of its BLEU-4: how many images have its sequences of words, and how
        long their references are.
        """
        words = words_of(text)
        if len(words) < len(ORDERS):
            return -math.inf
        total = 0.0
        for grams in counts_of(words):
            having = sum(self.cider.having[gram] for gram in grams)
            total += math.log(max(1e-9, having / (self.cider.images * grams.total()))) / 4
        return total + min(0.0, 1 - self._usual_length / len(words))

    @cached_property
    def _usual_length(self) -> float:
        lengths = [min(map(len, map(words_of, each))) for each in self.references]
        return float(np.mean(lengths))
