"""What the words of two sentences say for their being translations, by a learned dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regard.data.dictionary import NONE, SAME, Dictionary, Table, Text, words_of

Floats = npt.NDArray[np.float64]

# One word says no more than this, in nats, for or against.
MOST_FOR, MOST_AGAINST = 5.0, -1.5
FLOOR = 1e-4


class Explained:
    """Scores of sentences of the second side, given some of the first: the log-likelihood of their
    words beside that of words at random.
    """

    def __init__(self, table: Table, first: Sequence[Text], second: Sequence[Text]) -> None:
        self.table, self.first = table, first
        self.numbers = dict(table.words)
        for text in second:
            for word in text:
                self.numbers.setdefault(word, len(self.numbers))
        self.chances = np.full(len(self.numbers), FLOOR)
        known = len(table.chances)
        self.chances[:known] = np.maximum(table.chances, FLOOR)
        sizes = np.array([len(text) for text in second], np.int64)
        self.starts = np.concatenate(([0], np.cumsum(sizes)))
        self.ids = np.array([self.numbers[word] for text in second for word in text], np.int64)
        width = len(table.words)
        heads = np.arange(len(table.given) + 1) * width
        self.edges = np.searchsorted(table.keys, heads)
        self.tails = table.keys % max(1, width)

    def scores(self, given: tuple[int, int], begin: int, end: int) -> Floats:
        """For each sentence from `begin` to `end` of the second side, given those from the first
        number to before the second.
        """
        words = [word for row in range(*given) for word in self.first[row]]
        likely = np.zeros(len(self.numbers))
        heads = [0, *(self.table.given[word] for word in words if word in self.table.given)]
        for head in heads:
            part = slice(self.edges[head], self.edges[head + 1])
            likely[self.tails[part]] += self.table.values[part]
        for word in words:
            if (same := self.numbers.get(word)) is not None and word != NONE:
                likely[same] = max(likely[same], SAME)
        ids = self.ids[self.starts[begin] : self.starts[end]]
        ratios = np.log(np.maximum(likely[ids] / len(heads), FLOOR) / self.chances[ids])
        sums = np.concatenate(([0.0], np.cumsum(np.clip(ratios, MOST_AGAINST, MOST_FOR))))
        places = self.starts[begin : end + 1] - self.starts[begin]
        result: Floats = np.diff(sums[places])
        return result


@dataclass(frozen=True)
class Words:
    """Both directions for all sentences of two documents."""

    forward: Explained
    backward: Explained

    @classmethod
    def of(cls, sources: Sequence[str], targets: Sequence[str], known: Dictionary) -> Words:
        first, second = ([words_of(text) for text in side] for side in (sources, targets))
        return cls(
            Explained(known.forward, first, second), Explained(known.backward, second, first)
        )
