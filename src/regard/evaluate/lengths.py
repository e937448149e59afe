"""Scores by the length of the source: where a translator begins to fail."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.evaluate.scores import Metric, corpus_scores, is_unspaced

MOST_BINS = 12
# Fewer sentences say too little: such a bin is joined to its neighbour.
FEWEST_SENTENCES = 10
WIDTHS = tuple(step * 10**power for power in range(6) for step in (1, 2, 5))


@dataclass(frozen=True, slots=True)
class Bin:
    """Sentences of similar length; `rows` are their numbers."""

    shortest_words: int
    longest_words: int
    mean_words: float
    rows: tuple[int, ...]

    @property
    def label(self) -> str:
        if self.shortest_words == self.longest_words:
            return str(self.shortest_words)
        return f"{self.shortest_words}–{self.longest_words}"


def num_words(text: str, language: str | None) -> int:
    """The words between white space; the characters where a language has no spaces."""
    return len("".join(text.split())) if is_unspaced(language) else len(text.split())


def length_bins(sources: Sequence[str], language: str | None = None) -> list[Bin]:
    """All sentences that have words, from the short ones to the long ones, in at most twelve bins
    of the same round width; the last may be wider.
    """
    lengths = [num_words(source, language) for source in sources]
    longest = max(lengths, default=0)
    width = next(width for width in WIDTHS if longest <= MOST_BINS * width or width == WIDTHS[-1])
    groups: list[list[int]] = []
    for start in range(1, longest + 1, width):
        rows = [row for row, length in enumerate(lengths) if start <= length < start + width]
        if groups and min(len(rows), len(groups[-1])) < FEWEST_SENTENCES:
            groups[-1] += rows
        else:
            groups.append(rows)
    return [_bin(rows, lengths) for rows in groups if rows]


def _bin(rows: list[int], lengths: Sequence[int]) -> Bin:
    inside = [lengths[row] for row in rows]
    return Bin(min(inside), max(inside), sum(inside) / len(inside), tuple(rows))


def scores_by_length(
    bins: Sequence[Bin],
    hypotheses: Sequence[str],
    references: Sequence[str],
    metric: Metric,
    language: str | None = None,
) -> list[float]:
    """The score of each bin as if it were a corpus of its own."""
    return [
        corpus_scores(
            [hypotheses[row] for row in each.rows],
            [references[row] for row in each.rows],
            metrics=[metric],
            language=language,
        )[0].value
        for each in bins
    ]
