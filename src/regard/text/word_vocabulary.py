"""The words that have vectors: those that occur often enough in a text, with their counts.

A run keeps them in vocabulary.tsv, a word and its count a line, the most frequent first.
"""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from regard.errors import RunError
from regard.small_files import read_small, refusing
from regard.text.seen_words import words_of

LARGEST_FILE = 100_000_000  # bytes


def vocabulary_file(folder: Path) -> Path:
    """The file of a run folder that holds its words."""
    return folder / "vocabulary.tsv"


@dataclass(frozen=True)
class WordVocabulary:
    """Words in the order of their ids, and how often each occurs."""

    words: tuple[str, ...]
    counts: npt.NDArray[np.int64]

    @classmethod
    def learned(
        cls, texts: Iterable[str], lowercase: bool, min_count: int, size: int
    ) -> WordVocabulary:
        """The words that occur at least `min_count` times, `size` of them at the most."""
        found: Counter[str] = Counter()
        for text in texts:
            found.update(words_of(text.lower() if lowercase else text))
        often = sorted(
            (word for word, count in found.items() if count >= min_count),
            key=lambda word: (-found[word], word),
        )[:size]
        return cls(tuple(often), np.array([found[word] for word in often], np.int64))

    @classmethod
    def load(cls, path: Path) -> WordVocabulary:
        """Read what `to_tsv` wrote; anything else is refused."""
        try:
            content = read_small(path, LARGEST_FILE)
        except OSError as error:
            raise RunError(f"{path}: cannot be read ({error.strerror})") from None
        with refusing(RunError(f"{path}: damaged (not a word and its count a line)")):
            lines = content.decode().splitlines()
            words, counts = zip(*(line.split("\t") for line in lines), strict=True)
            found = cls(words, np.array(counts, np.int64))
        if len(found.ids) < len(words) or found.counts.min() < 1:
            raise RunError(f"{path}: damaged (a word occurs twice, or never)")
        return found

    def to_tsv(self) -> str:
        rows = zip(self.words, self.counts, strict=True)
        return "".join(f"{word}\t{count}\n" for word, count in rows)

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def ids(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def lower_cases(self) -> bool:
        """Whether capitals mean nothing: no word has one."""
        return all(word == word.lower() for word in self.words)

    @property
    def end(self) -> int:
        """The id that ends a passage in encoded text; it has no vector."""
        return len(self.words)

    @cached_property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.to_tsv().encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """The ids of the words of a text; others are left out."""
        found = words_of(text.lower() if self.lower_cases else text)
        return [number for word in found if (number := self.ids.get(word)) is not None]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.words[number] for number in ids]


def find_word(word: str, ids: dict[str, int]) -> int | None:
    """The id of a word as a person types it: in this case, or else in another."""
    for spelling in (word, word.lower(), word.capitalize()):
        if spelling in ids:
            return ids[spelling]
    return None


def similar_spellings(word: str, words: Sequence[str]) -> list[str]:
    """Words that may have been meant, the nearest first."""
    likely = [each for each in words if abs(len(each) - len(word)) < 3]
    return difflib.get_close_matches(word.lower(), likely, n=3, cutoff=0.75)
