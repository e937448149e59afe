"""Sorts pairs into those to learn from and those that are better left out, with a reason each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import Protocol

from regard.checks.languages import languages_of
from regard.checks.sample import Blocks
from regard.cleaning.fit import NOISE, Fit
from regard.cleaning.rules import Languages, folded, rules
from regard.data.corpus import Pair

# How many pairs are judged together.
BATCH = 2000
# Where a pair does not fit, the targets of these neighbours are tried.
NEIGHBOURS = (1, -1, 2, -2, 3, -3)
MISFIT, DUPLICATE, NEAR_DUPLICATE = "does not fit", "duplicate", "near duplicate"

Texts = Sequence[tuple[str, str]]
Judged = tuple[Pair, str | None]  # and the reason to drop it


class Scorer(Protocol):
    """A second opinion: the chance of each pair to be noise, by a trained model."""

    def chances(self, pairs: Texts) -> Sequence[float]: ...


@dataclass
class Cleaner:
    """What is known of some pairs, to judge each of them.

    `reasons` has the reasons of the pairs that were looked at to learn it, by their places.
    """

    languages: Languages
    fit: Fit | None
    scorer: Scorer | None = None
    reasons: dict[str, str | None] = field(default_factory=dict)
    good: Texts = ()  # of these pairs, those without a reason
    total: int = 0

    @classmethod
    def learned(cls, pairs: Iterable[Pair], languages: tuple[str, str] | None = None) -> Cleaner:
        """Look at pairs that are evenly spread over all of them."""
        sample: Blocks[Pair] = Blocks()
        for pair in pairs:
            sample.add(pair)
        looked_at = list(sample)
        found = Languages.of(*(languages or main_languages(looked_at)))
        cleaner = cls(found, None)
        cleaner.reasons = {pair.place: cleaner.reason(pair) for pair in looked_at}
        good = [pair for pair in looked_at if cleaner.reasons[pair.place] is None]
        cleaner.good = [(pair.source, pair.target) for pair in good]
        cleaner.fit = Fit.learned(cleaner.good)
        cleaner.total = sample.count
        return cleaner

    def reason(self, pair: Pair) -> str | None:
        """What shows on the pair alone."""
        found = (rule(pair.source, pair.target) for rule in rules(self.languages))
        return next((reason for reason in found if reason), None)

    def judged(self, pairs: Iterable[Pair]) -> Iterator[Judged]:
        """Each pair with the reason to drop it, or None."""
        seen = Seen()
        reading = iter(pairs)
        while batch := list(islice(reading, BATCH)):
            found = [
                self.reasons[pair.place] if pair.place in self.reasons else self.reason(pair)
                for pair in batch
            ]
            found = [reason or seen.before(pair) for pair, reason in zip(batch, found, strict=True)]
            self.misfits(batch, found)
            yield from zip(batch, found, strict=True)

    def misfits(self, batch: Sequence[Pair], reasons: list[str | None]) -> None:
        """Give a reason to pairs whose sides do not fit together."""
        rows = [row for row, reason in enumerate(reasons) if reason is None]
        texts = [(batch[row].source, batch[row].target) for row in rows]
        if self.fit is not None:
            bad = [
                row
                for row, chance in zip(rows, self.fit.chances(texts), strict=True)
                if chance > NOISE
            ]
            shifts = self.shifts(batch, bad)
            for row in bad:
                reasons[row] = shifts.get(row, MISFIT)
        if self.scorer is not None:
            for row, chance in zip(rows, self.scorer.chances(texts), strict=True):
                if reasons[row] is None and chance > NOISE:
                    reasons[row] = "unlikely to the model"

    def shifts(self, batch: Sequence[Pair], rows: Sequence[int]) -> dict[int, str]:
        """For pairs that do not fit, the neighbour whose target does."""
        tried = [
            (row, offset) for row in rows for offset in NEIGHBOURS if 0 <= row + offset < len(batch)
        ]
        if not tried or self.fit is None:
            return {}
        texts = [(batch[row].source, batch[row + offset].target) for row, offset in tried]
        found: dict[int, tuple[float, str]] = {}
        for (row, offset), chance in zip(tried, self.fit.chances(texts), strict=True):
            if chance < min(1 - NOISE, found.get(row, (1.0, ""))[0]):
                lines = f"{abs(offset)} line{'s' * (abs(offset) > 1)}"
                where = "below" if offset > 0 else "above"
                found[row] = float(chance), f"fits the target {lines} {where}"
        return {row: reason for row, (_, reason) in found.items()}


@dataclass
class Seen:
    """Pairs that were met, by short digests."""

    exact: set[int] = field(default_factory=set)
    near: set[int] = field(default_factory=set)

    def before(self, pair: Pair) -> str | None:
        same = digest(pair.source, pair.target)
        if same in self.exact:
            return DUPLICATE
        source, target = folded(pair.source), folded(pair.target)
        near = digest(source or pair.source, target or pair.target)
        if near in self.near:
            return NEAR_DUPLICATE
        self.exact.add(same)
        self.near.add(near)
        return None


def digest(*texts: str) -> int:
    joined = "\t".join(texts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(joined, digest_size=8).digest(), "big")


def main_languages(pairs: Sequence[Pair]) -> tuple[str | None, str | None]:
    """The languages that most of the text is in."""
    return (
        languages_of((pair.source, pair.place) for pair in pairs).main,
        languages_of((pair.target, pair.place) for pair in pairs).main,
    )


@dataclass
class Tally:
    """How many pairs were kept, and how many were dropped for each reason."""

    kept: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, reason: str | None) -> None:
        if reason is None:
            self.kept += 1
        else:
            self.reasons[reason] += 1

    @property
    def dropped(self) -> int:
        return self.reasons.total()

    @property
    def total(self) -> int:
        return self.kept + self.dropped
