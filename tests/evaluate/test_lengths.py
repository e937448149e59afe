"""Every sentence with words is in one bin, and a bin scores like a corpus of its own."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.evaluate.lengths import FEWEST_SENTENCES, MOST_BINS, length_bins, scores_by_length
from regard.evaluate.scores import corpus_scores


def sentences(lengths: list[int]) -> list[str]:
    return [" ".join(["word"] * length) for length in lengths]


@given(st.lists(st.integers(0, 300), max_size=200))
def test_bins_part_the_sentences_by_length(lengths: list[int]) -> None:
    bins = length_bins(sentences(lengths))
    counts = Counter(row for each in bins for row in each.rows)
    assert counts == Counter(row for row, length in enumerate(lengths) if length)
    assert len(bins) <= MOST_BINS
    for each in bins:
        inside = [lengths[row] for row in each.rows]
        assert (each.shortest_words, each.longest_words) == (min(inside), max(inside))
        assert each.mean_words == pytest.approx(sum(inside) / len(inside))
        assert len(each.rows) >= FEWEST_SENTENCES or len(bins) == 1
    for one, next_one in itertools.pairwise(bins):
        assert one.longest_words < next_one.shortest_words


def test_widths_are_round() -> None:
    labels = [each.label for each in length_bins(sentences([*range(1, 61)] * 10))]
    assert labels == [f"{start}–{start + 4}" for start in range(1, 61, 5)]
    labels = [each.label for each in length_bins(sentences([1, 2, 3, 4] * 10))]
    assert labels == ["1", "2", "3", "4"]


def test_characters_count_where_there_are_no_spaces() -> None:
    [one] = length_bins(["我爱北京"] * 10, "zh")
    assert one.mean_words == 4


def test_a_bin_scores_like_a_corpus_of_its_own() -> None:
    references = [f"a b c d e {number}" for number in range(20)]
    sources = sentences([3] * 10 + [30] * 10)
    outputs = [*references[:10], *(f"a b c {number}" for number in range(10))]
    bins = length_bins(sources)
    assert len(bins) == 2
    for metric in ("BLEU", "exact"):
        found = scores_by_length(bins, outputs, references, metric)
        expected = corpus_scores(outputs[10:], references[10:], metrics=[metric])[0].value
        assert found == [pytest.approx(100), pytest.approx(expected)]
