"""CIDEr-D (Vedantam et al. 2015): how much a caption has in common with what people wrote of the
same image, where words that are said of many images count little.

A sequence of one to four words weighs how often it is in a caption times the logarithm of how few
images have it. A caption and a reference are compared by the cosine of these weights, where no
sequence counts more often than the reference has it, and by their lengths.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

LONGEST = 4
SIGMA = 6.0

Counts = list[Counter[tuple[str, ...]]]
_cut = Tokenizer13a()  # type: ignore[no-untyped-call]


def words_of(text: str) -> list[str]:
    """Lower-cased words, without punctuation: sacreBLEU's tokenizer 13a, and what has letters."""
    return [each for each in _cut(text.lower()).split() if re.search(r"\w", each)]


def counts_of(words: Sequence[str]) -> Counts:
    """How often each sequence of one word, of two, … is there."""
    return [
        Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
        for n in range(1, LONGEST + 1)
    ]


class Cider:
    """The references of images, to score captions by; `references` has words."""

    def __init__(self, references: Sequence[Sequence[Sequence[str]]]) -> None:
        counts = [[counts_of(words) for words in each] for each in references]
        self.images = len(counts)
        self.having: Counter[tuple[str, ...]] = Counter()  # images with each sequence
        for each in counts:
            self.having.update({gram for one in each for grams in one for gram in grams})
        self.vectors = [[_Vector(one, self.weights(one)) for one in each] for each in counts]

    def weights(self, counts: Counts) -> list[dict[tuple[str, ...], float]]:
        known = math.log(self.images)
        return [
            {
                gram: count * (known - math.log(max(1, self.having[gram])))
                for gram, count in grams.items()
            }
            for grams in counts
        ]

    def scores(self, captions: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """The score of each image's caption, as words; 100 times what the paper's formula gives,
        as papers print it.
        """
        found = []
        for words, references in zip(captions, self.vectors, strict=True):
            counts = counts_of(words)
            own = _Vector(counts, self.weights(counts))
            likenesses = [own.likeness(each) for each in references]
            found.append(1000 * sum(likenesses) / max(1, len(likenesses)))
        return np.array(found)


class _Vector:
    def __init__(self, counts: Counts, weights: list[dict[tuple[str, ...], float]]) -> None:
        self.weights = weights
        self.norms = [math.sqrt(sum(each**2 for each in one.values())) for one in weights]
        # As the authors' program has it: the number of pairs of words.
        self.length = sum(counts[1].values())

    def likeness(self, reference: "_Vector") -> float:
        """The mean over the lengths of sequences, from 0 to 1."""
        total = 0.0
        for own, theirs, norm, other in zip(
            self.weights, reference.weights, self.norms, reference.norms, strict=True
        ):
            if norm and other:
                shared = own.keys() & theirs.keys()
                product = sum(min(own[gram], theirs[gram]) * theirs[gram] for gram in shared)
                total += product / (norm * other)
        apart = self.length - reference.length
        return total / LONGEST * math.exp(-(apart**2) / (2 * SIGMA**2))
