"""The simplest tagger, which results stand beside: each word has its most frequent label, and a
word that was never seen has the label that is most frequent of all.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from regard.errors import RunError
from regard.files import read_json, write_json

# The most words that are saved, the most frequent first.
MOST_WORDS = 100_000


@dataclass(frozen=True)
class FrequentLabels:
    words: dict[str, str]  # without those that have the label `otherwise`
    otherwise: str
    scores: dict[str, float] = field(default_factory=dict)  # on the validation set

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """As it was saved; None where there is none, as in runs of earlier versions."""
        if not path.exists():
            return None
        match read_json(path):
            case {
                "words": dict() as words,
                "otherwise": str(otherwise),
                "scores": dict() as scores,
            } if all(isinstance(label, str) for label in words.values()) and all(
                isinstance(score, float) for score in scores.values()
            ):
                return cls(words, otherwise, scores)
        raise RunError(f"{path}: damaged (no labels of words in it)")

    def save(self, path: Path) -> None:
        write_json(path, asdict(self))

    def labels(self, words: Iterable[str]) -> list[str]:
        return [self.words.get(word, self.otherwise) for word in words]


@dataclass
class LabelCounter:
    """Counts the labels of words."""

    found: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, words: Sequence[str], labels: Sequence[str]) -> None:
        self.found.update(zip(words, labels, strict=True))

    def frequent(self) -> FrequentLabels:
        totals: Counter[str] = Counter()
        for (_, label), count in self.found.items():
            totals[label] += count
        otherwise = first(totals)
        # The most frequent label of a word comes first, and words in the order of their counts.
        ranked = sorted(self.found.items(), key=lambda each: (-each[1], each[0]))
        best: dict[str, str] = {}
        for (word, label), _ in ranked:
            best.setdefault(word, label)
        other = [(word, label) for word, label in best.items() if label != otherwise]
        return FrequentLabels(dict(other[:MOST_WORDS]), otherwise)


def first(counts: Counter[str]) -> str:
    """The most frequent; of several, the first in the alphabet."""
    return min(counts, key=lambda each: (-counts[each], each))
