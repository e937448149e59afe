"""A translation memory: texts with their translations, found again when the same or a similar text
is to be translated.

How similar two texts are is counted in words: the number of words that differ (the edit distance),
of those that the longer text has. A text is only 100 % the same if every character is.
"""

import hashlib
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from regard.text.carried_tags import bare, carried, shape
from regard.text.marks import UNIT, MarkedText
from regard.text.protect import SIGNS, protect

Ids = npt.NDArray[np.int32]

# The least percentage of a text that is shown as similar, as programs of translators have it.
USUAL = 75
# The words of a text that are compared; longer texts are hardly ever similar.
MOST_WORDS = 400


@dataclass(frozen=True)
class Match:
    """A text of the memory that is like another one, with its translation."""

    source: str
    target: str
    percent: int


class Memory:
    """Pairs of texts. Of several translations of one text, the last counts."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._targets: dict[str, str] = {}
        for source, target in pairs:
            source = plain(source)
            self._targets.pop(source, None)  # so that the newest is the last
            self._targets[source] = target

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all pairs."""
        return hashlib.sha256(repr([*self._targets.items()]).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self._targets)

    def exact(self, text: str) -> Match | None:
        """The same text, or one that had tags beside."""
        target = self._targets.get(plain(text))
        if target is None:
            target = self._bare.get(plain(text))
        return None if target is None else Match(text, target, 100)

    @cached_property
    def _bare(self) -> dict[str, str]:
        """Texts that have tags, without these."""
        tagged = {text: target for text, target in self._targets.items() if "<" in text}
        return {plain(bare(text)): bare(target) for text, target in tagged.items()}

    def exact_marked(self, text: MarkedText) -> MarkedText | None:
        """The translation of the same text with the same marks, with the marks of this text."""
        if not text.marks:
            match = self.exact(text.written)
            return None if match is None else text.with_parts([match.target])
        known = self._shapes.get(plain(shape(text)))
        return carried(*known, text) if known else None

    @cached_property
    def _shapes(self) -> dict[str, tuple[str, str]]:
        """The texts that have marks, by their shapes."""
        found = {}
        for source, target in self._targets.items():
            if SIGNS.search(source):
                marked = protect(source)
                if marked.marks:
                    found[plain(shape(marked))] = source, target
        return found

    def best(self, text: str, least: int = USUAL) -> Match | None:
        """The most similar text that is at least this many percent the same."""
        if (same := self.exact(text)) is not None or least > 99:
            return same
        # Who looks for the same texts alone need not wait for it.
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein

        words = words_of(text)
        rows = self._index.candidates(words, least / 100)
        found = process.extractOne(
            self._index.spelled(words),
            [self._index.texts[row] for row in rows],
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=least / 100,
        )
        if found is None:
            return None
        _, score, place = found
        source = self._sources[rows[place]]
        # Texts of the same words differ in capitals or spaces.
        percent = min(99, math.floor(100 * score + 1e-9))
        return Match(bare(source), bare(self._targets[source]), percent)

    @cached_property
    def _sources(self) -> list[str]:
        return [*self._targets]

    @cached_property
    def _index(self) -> "Index":
        return Index([words_of(source) for source in self._targets])


def plain(text: str) -> str:
    """The text with one space between words."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def words_of(text: str) -> list[str]:
    """Words and marks in small letters, tags left out. A placeholder is one word, and `%s` is not
    `%d`.
    """
    words: list[str] = []
    for part in protect(text).parts if SIGNS.search(text) else (text,):
        if isinstance(part, str):
            words += UNIT.findall(part.casefold())
        elif part.word:
            words.append(part.text)
    return words[:MOST_WORDS]


class Index:
    """Which texts have a word. Each word is spelled as one character, so that texts are compared
    word by word by what compares strings.
    """

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        self._numbers: dict[str, int] = {}
        numbered = [
            [self._numbers.setdefault(word, len(self._numbers)) for word in sentence]
            for sentence in sentences
        ]
        self.texts = [spelled(row) for row in numbered]
        self.lengths = np.array([len(row) for row in numbered], np.int32)
        distinct = [sorted(set(row)) for row in numbered]
        words = np.array([word for row in distinct for word in row], np.int32)
        rows = np.repeat(np.arange(len(distinct), dtype=np.int32), [*map(len, distinct)])
        order = np.argsort(words, kind="stable")
        self._rows = rows[order]
        self._starts = np.searchsorted(words[order], np.arange(len(self._numbers) + 1))

    def spelled(self, words: Sequence[str]) -> str:
        unknown = {word: None for word in words if word not in self._numbers}
        more = {word: len(self._numbers) + at for at, word in enumerate(unknown)}
        return spelled([self._numbers.get(word, more.get(word, 0)) for word in words])

    def candidates(self, words: Sequence[str], least: float) -> list[int]:
        """All texts that may be so similar, the newest first.

        Such a text lacks at most a share of 1 - least of the words, so that of one word more than
        these it has at least one: of the rarest ones, which few texts have.
        """
        missing = math.floor((1 - least) * len(words) + 1e-9)
        found = {word: self._texts_with(word) for word in words}
        rarest = sorted(found.values(), key=len)[: missing + 1]
        rows = np.unique(np.concatenate([*rarest, np.zeros(0, np.int32)]))
        lengths = self.lengths[rows]
        shorter, longer = np.minimum(lengths, len(words)), np.maximum(lengths, len(words))
        near: list[int] = rows[shorter >= least * longer - 1e-9][::-1].tolist()
        return near

    def _texts_with(self, word: str) -> Ids:
        number = self._numbers.get(word)
        if number is None:
            return np.zeros(0, np.int32)
        return self._rows[self._starts[number] : self._starts[number + 1]]


def spelled(numbers: Iterable[int]) -> str:
    return "".join(map(chr, numbers))
