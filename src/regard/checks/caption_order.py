"""Whether captions stand beside their images: what can be told from the words alone.

Captions of the same image share words, and so do a caption and a file that is named after what it
shows. Where neither is so, nothing is claimed.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

MOST_ROWS_APART = 5
# Gains in standard deviations, and rows that speak for it, before captions are called shifted.
CERTAIN, LEAST_ROWS = 6.0, 20
BETTER = 1.2
# Pairs of captions before they are called unrelated, and words they have in common by chance.
LEAST_PAIRS, LEAST_IN_COMMON = 100, 0.005
RELATED = 2.0

WORDS = re.compile(r"[^\W\d_]+")
LEAST_LETTERS = 3
# From this share of the files on, names have words of captions.
NAMED = 0.2


@dataclass(frozen=True)
class Row:
    """A caption as it was read."""

    image: int
    name: str  # of the image's file, without folder and ending
    text: str


@dataclass(frozen=True)
class RowShift:
    """From row `first` on, each caption belongs to the image `offset` rows below: that is what can
    be seen, since captions may also be as many whole images further.
    """

    offset: int
    first: int


def words_of(text: str) -> frozenset[str]:
    return frozenset(each.lower() for each in WORDS.findall(text) if len(each) >= LEAST_LETTERS)


class CaptionOrder:
    """Rows of a table, and how well neighbours fit each other."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.images = np.array([row.image for row in rows], np.int64)
        self.words = [words_of(row.text) for row in rows]
        counts = Counter(word for each in self.words for word in each)
        total = max(1, len(rows))
        # A word says the more, the fewer captions have it.
        self.weights = {word: float(np.log(total / count)) for word, count in counts.items()}
        self.names = [words_of(row.name) & counts.keys() for row in rows]
        if sum(map(bool, self.names)) < NAMED * total:
            self.names = []
        self.same = self.images[:-1] == self.images[1:]
        self.alike = np.array(
            [self.likeness(a, b) for a, b in zip(self.words, self.words[1:], strict=False)]
        )

    def likeness(self, one: frozenset[str], other: frozenset[str]) -> float:
        """The share of what two captions say that both say, from 0 to 1."""
        both = self.weight(one & other)
        return both / max(1e-9, self.weight(one | other)) if both else 0.0

    def weight(self, words: frozenset[str]) -> float:
        return sum(self.weights.get(word, 0.0) for word in words)

    def fits(self, offset: int) -> Numbers:
        """How well each caption fits the caption after it and the name of the file, if it belongs
        to the image `offset` rows below: 0 beyond the ends.
        """
        found = np.zeros(len(self.words))
        rows = np.arange(len(self.alike))
        inside = (rows + offset >= 0) & (rows + offset < len(self.same))
        rows = rows[inside]
        found[rows] = self.alike[rows] * self.same[rows + offset]
        if self.names:
            for row in range(max(0, -offset), min(len(self.words), len(self.words) - offset)):
                found[row] += self.likeness(self.words[row], self.names[row + offset])
        return found

    def shift(self) -> RowShift | None:
        """The shift that explains the captions much better than none does."""
        here = self.fits(0)
        best, found = CERTAIN, None
        for offset in offsets():
            there = self.fits(offset)
            gains = there - here
            gains[: max(0, -offset)] = 0.0
            gains[len(gains) - max(0, offset) :] = 0.0
            sums = gains[::-1].cumsum()[::-1]
            first = int(sums.argmax())
            rest = gains[first:]
            spread = float(np.sqrt(np.square(rest).sum()))
            enough = np.count_nonzero(rest) >= LEAST_ROWS
            better = there[first:].sum() > BETTER * here[first:].sum()
            if enough and better and sums[first] > best * spread:
                # A larger shift has to be clearly better: a whole image further, it is the same.
                best, found = 1.1 * float(sums[first] / spread), RowShift(offset, first)
        return found

    def unrelated(self) -> bool:
        """Whether captions of the same image have no more in common than those of two images."""
        pairs = np.flatnonzero(self.same)
        if len(pairs) < LEAST_PAIRS:
            return False
        own = self.alike[pairs]
        # The second caption of a pair is that of a pair far away.
        others = np.roll(pairs, len(pairs) // 2)
        apart = np.array(
            [
                self.likeness(self.words[a], self.words[b + 1])
                for a, b in zip(pairs, others, strict=True)
                if self.images[a] != self.images[b]
            ]
        )
        if len(apart) < LEAST_PAIRS or apart.mean() < LEAST_IN_COMMON:
            return False
        error = np.sqrt(own.var() / len(own) + apart.var() / len(apart))
        return bool(own.mean() - apart.mean() < RELATED * error)


def offsets() -> Iterator[int]:
    for apart in range(1, MOST_ROWS_APART + 1):
        yield from (apart, -apart)
