"""How likely a translation is to be good, and each of its words: two logistic regressions over what
the search says of it, fitted to held-out pairs. It loads without PyTorch.

A translation is good if its chrF against a person's translation is at least GOOD, and a word if
that person used it, too.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from regard.errors import RunError
from regard.evaluate.regression import chances, regression
from regard.run import Run
from regard.small_files import refusing
from regard.text.tokenizer import Tokenizer, Tokenizers

if TYPE_CHECKING:
    from regard.tasks.translation.translation import Translation

Floats = npt.NDArray[np.float64]

# The measurement in a run.
NAME = "confidence"
GOOD = 50.0
# From this chance on a translation is called likely fine, and below the other a word doubtful.
FINE, DOUBTFUL = 0.7, 0.5
# The numbers of signs of a sentence and of a word.
SIGNS, WORD_SIGNS = 9, 6
# Signs are at most this many standard deviations from the mean.
FARTHEST = 4.0


@dataclass(frozen=True)
class Confidence:
    """How sure a translation is.

    Attributes
    ----------
    probability : float
        The chance that the translation is good.
    words : list of (str, float)
        The words of the translation, each with the chance that a person would use it, too.
    """

    probability: float
    words: list[tuple[str, float]]

    @property
    def verdict(self) -> str:
        """`"likely fine"` or `"check"`."""
        return "likely fine" if self.probability >= FINE else "check"

    @property
    def doubtful(self) -> list[str]:
        """The words that a person would rather not use."""
        return [word for word, chance in self.words if chance < DOUBTFUL]

    def facts(self) -> dict[str, Any]:
        """All of it as JSON has it.

        Returns
        -------
        dict of str to Any
            `probability`, `verdict`, `doubtful` and `words`.
        """
        return {
            "probability": round(self.probability, 4),
            "verdict": self.verdict,
            "doubtful": self.doubtful,
            "words": [[word, round(chance, 4)] for word, chance in self.words],
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """As `facts` has it."""
        words = [(str(word), float(chance)) for word, chance in facts["words"]]
        return cls(float(facts["probability"]), words)


def least_sure(parts: Sequence[Confidence | None]) -> Confidence | None:
    """The confidence of a text of several parts: as sure as its least sure one."""
    known = [each for each in parts if each is not None]
    if not known or len(known) < len(parts):
        return None
    return Confidence(
        min(each.probability for each in known), [word for each in known for word in each.words]
    )


@dataclass(frozen=True)
class Searched:
    """What a search says of an output: its text, the word that each piece belongs to, their
    log-probabilities with that of END, and the number of source pieces.
    """

    text: str
    owners: Sequence[int]
    log_probabilities: Sequence[float]
    source_pieces: int
    finished: bool
    unseen_words: int

    def signs(self) -> list[float]:
        """What speaks for a good translation, or against it."""
        values = self.log_probabilities or [0.0]
        words = self.text.split()
        pairs = list(pairwise(words))
        ratio = math.log((len(values) + 1) / (self.source_pieces + 1))
        return [
            sum(values) / len(values),
            min(values),
            sum(map(math.exp, values)) / len(values),
            math.log1p(len(values)),
            ratio,
            abs(ratio),
            float(not self.finished),
            min(self.unseen_words, 3),
            1 - len(set(pairs)) / len(pairs) if pairs else 0.0,
        ]

    def word_signs(self) -> list[list[float]]:
        """The same for each word of the text."""
        words = self.text.split()
        values = [*self.log_probabilities, 0.0]
        places: list[list[int]] = [[] for _ in words]
        for place, owner in enumerate(self.owners):
            if 0 <= owner < len(words):
                places[owner].append(place)
        mean = sum(self.log_probabilities) / max(1, len(self.log_probabilities))
        return [
            [
                min((values[each] for each in at), default=mean),
                sum(values[each] for each in at),
                values[at[-1] + 1] if at else 0.0,
                math.log1p(len(at)),
                mean,
                math.log1p(len(word)),
            ]
            for word, at in zip(words, places, strict=True)
        ]


def searched(translation: "Translation", source_pieces: int, tokenizer: Tokenizer) -> Searched:
    """What a search says of a translation."""
    return Searched(
        translation.text,
        tokenizer.word_of(translation.ids),
        translation.log_probabilities,
        source_pieces,
        translation.finished,
        len(translation.unseen_words),
    )


def used(text: str, reference: str) -> list[bool]:
    """Whether each word of a text is in its reference; one there stands for one here."""
    left = Counter(map(plain, reference.split()))
    found = []
    for word in map(plain, text.split()):
        found.append(left[word] > 0)
        left[word] -= 1
    return found


def plain(word: str) -> str:
    """A word without capitals, and without the punctuation around it."""
    stripped = word
    while stripped and not stripped[0].isalnum():
        stripped = stripped[1:]
    while stripped and not stripped[-1].isalnum():
        stripped = stripped[:-1]
    return (stripped or word).casefold()


@dataclass(frozen=True)
class Fit:
    """A logistic regression over signs."""

    means: Floats
    spreads: Floats
    weights: Floats  # the first is that of a constant

    @classmethod
    def of(cls, signs: Sequence[Sequence[float]], labels: Sequence[bool], count: int) -> Self:
        """Fitted to the signs of each case, and whether it was right."""
        rows = np.asarray(signs, float)
        if not len(rows):  # a model that writes no words
            return cls(np.zeros(count), np.ones(count), np.zeros(count + 1))
        means, spreads = rows.mean(0), np.maximum(rows.std(0), 1e-6)
        blank = cls(means, spreads, np.zeros(count + 1))
        return cls(means, spreads, regression(blank.design(rows), np.asarray(labels, float)))

    def design(self, rows: Floats) -> Floats:
        scaled = np.clip((rows - self.means) / self.spreads, -FARTHEST, FARTHEST)
        return np.hstack([np.ones((len(rows), 1)), scaled])

    def chances(self, signs: Sequence[Sequence[float]]) -> list[float]:
        if not signs:
            return []
        found: list[float] = chances(self.design(np.asarray(signs, float)) @ self.weights).tolist()
        return found

    def facts(self) -> dict[str, list[float]]:
        every = {"means": self.means, "spreads": self.spreads, "weights": self.weights}
        return {name: values.tolist() for name, values in every.items()}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], count: int) -> Self:
        """As `facts` wrote it, for this number of signs; a ValueError if it is not that."""
        rows = [np.asarray(facts[name], float) for name in ("means", "spreads", "weights")]
        lengths = [(count,), (count,), (count + 1,)]
        if [each.shape for each in rows] != lengths or not all(np.isfinite(r).all() for r in rows):
            raise ValueError("other numbers than a fit has")
        if not (rows[1] > 0).all():
            raise ValueError("a spread that is not positive")
        return cls(*rows)


@dataclass(frozen=True)
class Judged:
    """A translation beside a person's, and its chrF."""

    found: Searched
    reference: str
    chrf: float

    @property
    def is_good(self) -> bool:
        return self.chrf >= GOOD


@dataclass(frozen=True)
class Calibration:
    """The fits for translations and for words."""

    sentence: Fit
    word: Fit

    @classmethod
    def of(cls, rows: Sequence[Judged]) -> Self:
        words = [signs for each in rows for signs in each.found.word_signs()]
        right = [mark for each in rows for mark in used(each.found.text, each.reference)]
        sentences = [each.found.signs() for each in rows]
        good = [each.is_good for each in rows]
        return cls(Fit.of(sentences, good, SIGNS), Fit.of(words, right, WORD_SIGNS))

    def confidence(self, found: Searched) -> Confidence:
        (probability,) = self.sentence.chances([found.signs()])
        chances = self.word.chances(found.word_signs())
        return Confidence(probability, list(zip(found.text.split(), chances, strict=True)))

    def facts(self) -> dict[str, Any]:
        return {"good": GOOD, "sentence": self.sentence.facts(), "word": self.word.facts()}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """As `facts` wrote it; one of `UNEXPECTED` if it is damaged."""
        return cls(
            Fit.from_facts(facts["sentence"], SIGNS), Fit.from_facts(facts["word"], WORD_SIGNS)
        )


def calibration_of(folder: Path) -> Calibration | None:
    """What was measured of a run's weights; None where nothing was."""
    run = Run(folder)
    found = run.finding(NAME)
    if found is None:
        return None
    damaged = f"{run.folder / NAME}.json: damaged; `regard inspect confidence` writes it again"
    with refusing(RunError(damaged)):
        return Calibration.from_facts(found)


class SaysHowSure:
    """A translator whose run may be calibrated."""

    folder: Path | None
    tokenizers: Tokenizers
    # What says how sure a translation is; None in a run that is not calibrated.
    calibration: Calibration | None

    def require_calibration(self) -> None:
        """Raise a RunError if nothing says how sure a translation is."""
        if self.calibration is None:
            raise RunError(
                f"{self.folder}: is not calibrated, so nothing says how sure its translations are; "
                f"`regard inspect confidence {self.folder}` measures it"
            )

    def _with_confidence(self, translation: "Translation", source_pieces: int) -> "Translation":
        if self.calibration is None:
            return translation
        said = searched(translation, source_pieces, self.tokenizers.target)
        return replace(translation, confidence=self.calibration.confidence(said))
