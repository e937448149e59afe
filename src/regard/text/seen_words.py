"""The words that a model has met in training, so that it can say which ones it has not.

Stored are only their hashes, 32 bits each, in rising order: a set of a million words takes four
megabytes, and contains a word that it never met with a chance of one in four thousand.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from regard.errors import RunError
from regard.small_files import read_small

# What is between words: white space, digits, punctuation and symbols. Apostrophes and hyphens are
# among them, so l'Afrique is l and Afrique, and a number is no word. Scripts without spaces between
# words are left out, except for Chinese characters, each of which counts as a word.
_BETWEEN = (
    r"\s\d_!-/:-@\[-`{-~\u00a1-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7"
    r"\u02b0-\u02ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2000-\u2bff\u2e00-\u2e7f\u3000-\u30ff"
    r"\u31f0-\u31ff\ufe00-\ufe0f\uff00-\uff9f\ufff0-\uffff\U0001f000-\U0001faff"
)
_CHINESE = r"\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_CHINESE}]|[^{_BETWEEN}{_CHINESE}]+")
# So many different stretches of text are gathered before they are cut into words.
_AT_ONCE = 200_000
# Characters from which on a text is not split at once.
_LONG = 1_000_000
# The most bytes of a file.
LARGEST = 64 << 20


def words_of(text: str) -> list[str]:
    """The words of a text as it spells them."""
    return _WORD.findall(unicodedata.normalize("NFC", text))


def _hash(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "replace"))


class SeenWords:
    """Words that were met in training. A capital at the beginning makes no other word, since any
    word may begin a sentence; CHAT and jane are other words than chat and Jane to a model.
    """

    def __init__(self, hashes: npt.NDArray[np.uint32]) -> None:
        self._hashes = hashes

    @classmethod
    def load(cls, path: Path) -> SeenWords | None:
        """The words of a file; None without one, as in runs of earlier versions."""
        try:
            content = read_small(path, LARGEST)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RunError(f"{path}: cannot be read ({error.strerror})") from None
        if len(content) % 4:
            raise RunError(f"{path}: damaged (cut off); delete it, which only costs a remark")
        return cls(np.frombuffer(content, "<u4"))

    def to_bytes(self) -> bytes:
        return self._hashes.astype("<u4").tobytes()

    def __len__(self) -> int:
        return len(self._hashes)

    @cached_property
    def _known(self) -> frozenset[int]:
        return frozenset(self._hashes.tolist())

    def __contains__(self, word: str) -> bool:
        return _hash(word) in self._known or _hash(word[:1].lower() + word[1:]) in self._known

    def unseen(self, text: str) -> list[str]:
        """The words of a text that were never met, each once, in the order of the text."""
        return [*dict.fromkeys(word for word in words_of(text) if word not in self)]


class WordGatherer:
    """Gathers the words of texts that pass by."""

    def __init__(self, before: SeenWords | None = None) -> None:
        self._stretches: set[str] = set()
        self._hashes: set[int] = set(before._known) if before is not None else set()

    def watch(self, text: str) -> None:
        """Stretches between white space are gathered first: most of them come again and again."""
        if len(text) < _LONG:
            self._stretches.update(text.split())
        else:  # one by one, since millions of them at once need far more memory than the text
            self._stretches.update(found.group() for found in re.finditer(r"\S+", text))
        if len(self._stretches) > _AT_ONCE:
            self._cut()

    def _cut(self) -> None:
        for stretch in self._stretches:
            self._hashes.update(map(_hash, words_of(stretch)))
        self._stretches.clear()

    def gathered(self) -> SeenWords:
        self._cut()
        return SeenWords(np.array(sorted(self._hashes), np.uint32))


SENTENCE = "these words were never seen in training"


def remark(unseen: Sequence[str]) -> str:
    """What to say of a text with these words."""
    return f"{SENTENCE.capitalize()}: {_shown(unseen)}" if unseen else ""


class UnseenCount:
    """Counts unseen words over many lines, for one remark at the end."""

    def __init__(self) -> None:
        self.lines = 0
        self.with_unseen = 0
        self.words: Counter[str] = Counter()

    def add(self, unseen: Iterable[str]) -> None:
        found = list(unseen)
        self.lines += 1
        self.with_unseen += bool(found)
        self.words.update(found)

    def remark(self) -> str:
        if not self.words:
            return ""
        often = [word for word, _ in self.words.most_common()]
        return f"In {self.with_unseen:,} of {self.lines:,} lines, {SENTENCE}: {_shown(often)}"


def _shown(words: Sequence[str], most: int = 10) -> str:
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more
