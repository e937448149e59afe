"""Cutting a sentence into words as the data of a tagger does: "reads." into "reads" and ".".

Which marks are words of their own, which endings ("n't") and beginnings ("l'") are cut off, and
which words keep theirs ("Mr."), is counted in the training data.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import RunError
from regard.small_files import parse_json, read_small, refusing

# A mark or an ending that is a word fewer times than this may be an accident of the data.
FEWEST = 3
LONGEST_MARK = 3
MOST_WHOLE = 5_000


def _plain(word: str) -> str:
    """The spelling by which words are compared."""
    return word.casefold().replace("’", "'")


def _is_mark(unit: str) -> bool:
    return len(unit) <= LONGEST_MARK and not any(map(str.isalnum, unit))


@dataclass(frozen=True)
class WordCutter:
    """`marks` are words of their own; `endings` and `beginnings` are cut off; a word in `whole` is
    not cut.
    """

    marks: frozenset[str] = frozenset()
    endings: frozenset[str] = frozenset()
    beginnings: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()

    def cut(self, sentence: str) -> list[str]:
        return [word for stretch in sentence.split() for word in self._cut(stretch)]

    def _cut(self, stretch: str) -> list[str]:
        before: list[str] = []
        after: list[str] = []
        while _plain(stretch) not in self.whole:
            if size := self._mark(stretch, first=True) or self._affix(stretch, first=True):
                before.append(stretch[:size])
                stretch = stretch[size:]
            elif size := self._mark(stretch, first=False) or self._affix(stretch, first=False):
                after.append(stretch[-size:])
                stretch = stretch[:-size]
            else:
                break
        return [*before, *([stretch] if stretch else []), *reversed(after)]

    def _mark(self, stretch: str, *, first: bool) -> int:
        """The length of the mark at one end, if it is a word of its own."""
        for size in range(min(LONGEST_MARK, len(stretch)), 0, -1):
            if (stretch[:size] if first else stretch[-size:]) in self.marks:
                return size
        return 0

    def _affix(self, stretch: str, *, first: bool) -> int:
        """The length of the beginning or ending that is cut off, if there is more than that."""
        plain = _plain(stretch)
        known = self.beginnings if first else self.endings
        found = [
            len(affix)
            for affix in known
            if len(affix) < len(plain)
            and (plain.startswith(affix) if first else plain.endswith(affix))
        ]
        return max(found, default=0)

    def to_json(self) -> str:
        lists = {name: sorted(getattr(self, name)) for name in self.__dataclass_fields__}
        return json.dumps(lists, indent=1, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> WordCutter:
        """The cutter of a file; one that cuts at spaces only without one, as in earlier runs."""
        way_out = "delete it to split sentences at spaces only"
        try:
            content = read_small(path)
        except FileNotFoundError:
            return cls()
        except OSError as error:
            raise RunError(f"{path}: cannot be read ({error.strerror}); {way_out}") from None
        with refusing(RunError(f"{path}: damaged; {way_out}")):
            lists = parse_json(content)
            return cls(**{name: frozenset(map(str, words)) for name, words in lists.items()})


class CutterLearner:
    """Counts how sentences are cut into words."""

    def __init__(self) -> None:
        self._units: Counter[str] = Counter()

    def add(self, units: Iterable[str]) -> None:
        self._units.update(units)

    def learned(self) -> WordCutter:
        alone = {unit: n for unit, n in self._units.items() if _is_mark(unit) and n >= FEWEST}
        words = {unit: n for unit, n in self._units.items() if any(map(str.isalnum, unit))}
        attached: Counter[str] = Counter()
        for word, count in words.items():
            for mark in {word[0], word[-1]}:
                attached[mark] += count
        marks = frozenset(mark for mark, n in alone.items() if n >= attached[mark])
        affixes = {_plain(unit) for unit, n in words.items() if n >= FEWEST and "'" in _plain(unit)}
        endings = frozenset(
            each for each in affixes if (each[0] == "'" or each == "n't") and "'" not in each[2:]
        )
        beginnings = frozenset(each for each in affixes if each[-1] == "'" and len(each) > 1)
        cutter = WordCutter(marks, endings, beginnings)
        return WordCutter(marks, endings, beginnings, self._kept(words, cutter))

    @staticmethod
    def _kept(words: dict[str, int], cutter: WordCutter) -> frozenset[str]:
        """The words that the cutter would cut and the data does not."""
        often: Sequence[str] = sorted(words, key=lambda word: (-words[word], word))
        kept = (word for word in often if len(cutter.cut(word)) > 1)
        return frozenset(_plain(word) for word, _ in zip(kept, range(MOST_WHOLE), strict=False))
