"""Which pairs to learn from, and a report on the pairs that were dropped."""

from __future__ import annotations

from dataclasses import dataclass, field

from regard.data.corpus import Pair
from regard.errors import DataError

# No language needs more characters than this for one piece, so longer text is not even encoded.
CHARACTERS_PER_PIECE = 40
# Short sentences differ freely ("Oui." and "Yes, I do."): a ratio alone would drop them.
RATIO_SLACK_PIECES = 10
NAMED_PLACES = 3
LARGEST_DROPPED_SHARE = 1 / 3


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many pairs were dropped for one reason, and the places of the first ones."""

    reason: str
    count: int
    places: tuple[str, ...]

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.places) else ""
        return f"{self.count:,} {self.reason} ({', '.join(self.places)}{more})"


@dataclass(frozen=True, slots=True)
class FilterReport:
    """How many pairs of a corpus were kept, and why the others were dropped."""

    total: int
    kept: int
    dropped: tuple[Dropped, ...]

    def lines(self) -> list[str]:
        kept = f"{self.kept:,} of {self.total:,} pairs kept"
        return [kept, *(f"dropped: {entry}" for entry in self.dropped)]

    def check(self) -> None:
        """Raise an error if so much was dropped that the data is probably not what it should be."""
        if self.total == 0:
            raise DataError("no pairs to learn from; give files with sentences")
        missing = self.total - self.kept
        if missing > self.total * LARGEST_DROPPED_SHARE:
            reasons = "; ".join(map(str, self.dropped))
            raise DataError(
                f"{missing:,} of {self.total:,} pairs would be dropped, more than a third:"
                f" {reasons};"
                " check that the two sides belong together, or allow longer sentences"
            )


@dataclass(slots=True)
class PairFilter:
    """Decides which pairs to keep, and counts the others by reason.

    Lengths are in pieces, END included, so no row of a batch is longer than `max_length`.

    Attributes
    ----------
    max_length : int
        Longer pairs are dropped.
    max_ratio : float
        Pairs are dropped whose sides differ more in length.
    total : int
        The pairs that were looked at.

    Examples
    --------
    >>> from regard import PairFilter
    >>> from regard.data.corpus import Pair
    >>> pairs = PairFilter(max_length=100, max_ratio=4.0)
    >>> pairs.keeps(Pair("le chat", "the cat", "a:1"), 3, 3)
    True
    >>> pairs.keeps(Pair("", "the cat", "a:2"), 1, 3)
    False
    >>> pairs.report().lines()
    ['1 of 2 pairs kept', 'dropped: 1 empty source (a:2)']
    """

    max_length: int
    max_ratio: float
    total: int = 0
    _places: dict[str, list[str]] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def too_long_to_encode(self, pair: Pair) -> bool:
        """Whether a pair is so long that its pieces need not be counted."""
        longest = max(len(pair.source), len(pair.target))
        return longest > self.max_length * CHARACTERS_PER_PIECE

    def keeps(self, pair: Pair, source_length: int, target_length: int) -> bool:
        """Decide on a pair.

        Parameters
        ----------
        pair
            The pair, which knows where it was read.
        source_length, target_length
            Its lengths in pieces, END included.

        Returns
        -------
        bool
            Whether to keep it.
        """
        return self._count(pair, self._reason(source_length, target_length))

    def drop_too_long(self, pair: Pair) -> None:
        """Count a pair that was too long to encode."""
        self._count(pair, "too long")

    def report(self) -> FilterReport:
        """How many pairs were kept, and why the others were not."""
        dropped = tuple(
            Dropped(reason, count, tuple(self._places[reason]))
            for reason, count in sorted(self._counts.items(), key=lambda entry: -entry[1])
        )
        return FilterReport(self.total, self.total - sum(self._counts.values()), dropped)

    def _reason(self, source_length: int, target_length: int) -> str | None:
        shorter, longer = sorted((source_length, target_length))
        if source_length <= 1:
            return "empty source"
        if target_length <= 1:
            return "empty target"
        if longer > self.max_length:
            return "too long"
        if longer > self.max_ratio * shorter + RATIO_SLACK_PIECES:
            return "length ratio"
        return None

    def _count(self, pair: Pair, reason: str | None) -> bool:
        self.total += 1
        if reason is None:
            return True
        self._counts[reason] = self._counts.get(reason, 0) + 1
        places = self._places.setdefault(reason, [])
        if len(places) < NAMED_PLACES:
            places.append(pair.place)
        return False
