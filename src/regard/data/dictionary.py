"""A dictionary learned from pairs alone: IBM Model 1 (Brown et al. 1993), in both directions.

Words are compared in lower case and by their first letters, so that the forms of a word help each
other. Characters of languages without spaces are words of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Text = tuple[str, ...]  # its words

ROUNDS = 5
STEM = 6  # letters
# Longer sides say little more, and the work grows with the square of it.
MOST_WORDS = 60
# Words that are met less often say nothing of their translations.
LEAST_COUNT = 2
# Entries that are less likely than this are forgotten.
LEAST = 1e-3
# A name, a number or an address is mostly the same in both languages.
SAME = 0.5

_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|\d+|[^\W\d_]+"
)


def words_of(text: str) -> Text:
    """The words of a text as the dictionary counts them."""
    return tuple(word[:STEM] for word in _WORD.findall(text.lower())[:MOST_WORDS])


@dataclass(frozen=True)
class Table:
    """How likely a word of one side is, given a word of the other."""

    given: dict[str, int]
    words: dict[str, int]
    keys: Ids  # given · number of words + word, sorted
    values: Floats
    chances: Floats  # of each word, whatever is given

    @classmethod
    def learned(cls, pairs: Sequence[tuple[Text, Text]], rounds: int = ROUNDS) -> Self:
        given, words = numbered(pair[0] for pair in pairs), numbered(pair[1] for pair in pairs)
        links = Links.of(pairs, given, words)
        kinds, entry = np.unique(links.given * len(words) + links.words, return_inverse=True)
        heads = kinds // max(1, len(words))
        probability = np.ones(len(kinds))
        for _ in range(rounds if len(kinds) else 0):
            weights = probability[entry]
            shares = weights / np.repeat(np.add.reduceat(weights, links.starts), links.sizes)
            counts = np.bincount(entry, shares, len(kinds))
            probability = counts / np.bincount(heads, counts)[heads]
        totals = np.bincount(links.words[links.starts], minlength=len(words)).astype(np.float64)
        kept = probability >= LEAST
        return cls(given, words, kinds[kept], probability[kept], totals / max(1.0, totals.sum()))

    def likely(self, links: Links) -> Floats:
        """The chance of the word of each link, given the other; a word that both sides share is
        likely, whether it was met or not.
        """
        found = np.zeros(len(links.words))
        known = (links.given >= 0) & (links.words >= 0)
        if len(self.keys):
            wanted = links.given[known] * len(self.words) + links.words[known]
            at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
            found[known] = np.where(self.keys[at] == wanted, self.values[at], 0.0)
        found[links.same] = np.maximum(found[links.same], SAME)
        return found


NONE = ""  # the word that words come from which nothing on the other side says


def numbered(texts: Iterable[Text]) -> dict[str, int]:
    counts = Counter(word for text in texts for word in text)
    common = (word for word, count in counts.items() if count >= LEAST_COUNT)
    return {NONE: 0} | {word: i for i, word in enumerate(common, start=1)}


@dataclass(frozen=True)
class Links:
    """Every word of each pair's second side with every word of its first side, and with none: in
    one long array, a block for each word.
    """

    given: Ids  # -1 for a word that is not known
    words: Ids
    same: npt.NDArray[np.bool_]
    starts: Ids
    sizes: Ids
    counts: Ids  # blocks of each pair

    @classmethod
    def of(
        cls,
        pairs: Sequence[tuple[Text, Text]],
        given: dict[str, int],
        words: dict[str, int],
        known_only: bool = True,
    ) -> Self:
        """`known_only` leaves out words that the dictionary does not have."""
        blocks: list[tuple[Ids, Ids]] = []
        sames: list[npt.NDArray[np.bool_]] = []
        sizes: list[int] = []
        counts: list[int] = []
        for first, second in pairs:
            heads, tails = (
                [(word, numbers.get(word, -1)) for word in text]
                for text, numbers in ((first, given), (second, words))
            )
            if known_only:
                heads, tails = ([w for w in side if w[1] > 0] for side in (heads, tails))
            numbers = np.array([0, *(number for _, number in heads)], np.int64)
            ids = np.array([number for _, number in tails], np.int64)
            blocks.append((np.tile(numbers, len(ids)), np.repeat(ids, len(numbers))))
            shared = {word for word, _ in heads} & {word for word, _ in tails}
            same = np.zeros((len(ids), len(numbers)), bool)
            for word in shared:
                rows = [i for i, (each, _) in enumerate(tails) if each == word]
                columns = [i for i, (each, _) in enumerate(heads, start=1) if each == word]
                same[np.ix_(rows, columns)] = True
            sames.append(same.ravel())
            sizes += [len(numbers)] * len(ids)
            counts.append(len(ids))
        lengths = np.array(sizes, np.int64)
        starts = np.cumsum(lengths) - lengths
        empty = [np.zeros(0, np.int64)]
        return cls(
            np.concatenate([block[0] for block in blocks] or empty),
            np.concatenate([block[1] for block in blocks] or empty),
            np.concatenate(sames or [np.zeros(0, bool)]),
            starts,
            lengths,
            np.array(counts, np.int64),
        )


@dataclass(frozen=True)
class Dictionary:
    """What words of a target say of the words of a source, and the other way round."""

    forward: Table  # target words, given source words
    backward: Table

    @classmethod
    def learned(cls, pairs: Iterable[tuple[str, str]], rounds: int = ROUNDS) -> Self:
        texts = [(words_of(source), words_of(target)) for source, target in pairs]
        turned = [(target, source) for source, target in texts]
        return cls(Table.learned(texts, rounds), Table.learned(turned, rounds))
