"""Sentence pairs as a check reads them: counts of all, and a sample to look at closely."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from regard.checks.alignment import Alignment, Stretch, align
from regard.checks.characters import Cells
from regard.checks.languages import Languages, languages_of
from regard.checks.report import EXAMPLES, Example
from regard.checks.sample import MOST, Blocks
from regard.data.corpus import Pair
from regard.data.pair_filter import FilterReport, PairFilter

# Languages that write no spaces have about this many pieces a character, others these a character
# or a word; the larger of the two counts.
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
PIECES_OF_UNSPACED, PIECES_OF_CHARACTER, PIECES_OF_WORD = 0.7, 0.25, 1.3


@dataclass(frozen=True)
class PairLimits:
    """What the pairs should be: their languages, if they are named, and the longest to learn."""

    languages: tuple[str, str] | None = None
    max_length: int = 256
    max_ratio: float = 4.0


@dataclass
class PairCounts:
    """What one reading of all pairs counts, and a sample of them."""

    sample: Blocks[Pair] = field(default_factory=Blocks)
    copies: int = 0
    duplicates: int = 0
    first_copies: list[Example] = field(default_factory=list)
    first_duplicates: list[Example] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    more: bool = False  # than were read

    @property
    def total(self) -> int:
        return self.sample.count

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> "PairCounts":
        found, reading = cls(), iter(pairs)
        for pair in islice(reading, MOST):
            found.add(pair)
        found.more = next(reading, None) is not None
        return found

    def add(self, pair: Pair) -> None:
        self.sample.add(pair)
        if pair.source == pair.target and pair.source:
            self.copies += 1
            if len(self.first_copies) < EXAMPLES and len(pair.source) > 1:
                self.first_copies.append(shown(pair))
        key = hash((pair.source, pair.target))
        if key in self.seen:
            self.duplicates += 1
            if len(self.first_duplicates) < EXAMPLES and pair.source:
                self.first_duplicates.append(shown(pair))
        else:
            self.seen.add(key)


def shown(pair: Pair) -> Example:
    return Example(pair.place, (pair.source, pair.target))


@dataclass(frozen=True)
class Pairs:
    """Pairs that were read, and what is to be seen on them."""

    counts: PairCounts
    limits: PairLimits
    files: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        """What the sides are called: their files, if each has one."""
        return (self.files[0], self.files[1]) if len(self.files) == 2 else ("source", "target")

    def target_place(self, pair: Pair) -> str:
        """Where the target of a pair is."""
        file, colon, line = pair.place.rpartition(":")
        both = [*zip(self.files[::2], self.files[1::2], strict=False)]
        other = dict(both) | {target: source for source, target in both}
        return f"{other.get(file, file)}{colon}{line}"

    def side(self, number: int) -> Iterator[tuple[str, str]]:
        """The texts of a side, with their places."""
        if number == 0:
            return ((pair.source, pair.place) for pair in self.sample)
        return ((pair.target, self.target_place(pair)) for pair in self.sample)

    @cached_property
    def sample(self) -> list[Pair]:
        return list(self.counts.sample)

    @cached_property
    def languages(self) -> tuple[Languages, Languages]:
        return languages_of(self.side(0)), languages_of(self.side(1))

    @cached_property
    def cells(self) -> tuple[Cells, Cells]:
        found = Cells(), Cells()
        for number, cells in enumerate(found):
            for text, place in self.side(number):
                cells.add(text, place)
        return found

    @cached_property
    def alignment(self) -> Alignment:
        return align(
            [
                Stretch(first, [p.source for p in pairs], [p.target for p in pairs])
                for first, pairs in self.counts.sample.stretches()
            ]
        )

    @cached_property
    def filtered(self) -> FilterReport:
        """What training would drop; pieces are estimated, since none are learned yet."""
        pair_filter = PairFilter(self.limits.max_length, self.limits.max_ratio)
        for pair in self.sample:
            if pair_filter.too_long_to_encode(pair):
                pair_filter.drop_too_long(pair)
            else:
                pair_filter.keeps(pair, pieces(pair.source), pieces(pair.target))
        return pair_filter.report()


def pieces(text: str) -> int:
    """About how many pieces a text has, its end included."""
    if not (words := len(text.split())):
        return 1
    unspaced = len(UNSPACED.findall(text)) if not text.isascii() else 0
    letters = PIECES_OF_UNSPACED * unspaced + PIECES_OF_CHARACTER * (len(text) - unspaced)
    return 1 + max(1, round(max(PIECES_OF_WORD * words, letters)))
