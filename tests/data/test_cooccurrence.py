"""Vectors of pieces from co-occurrence counts in a text."""

import numpy as np
import pytest
import torch

from regard.data import cooccurrence
from regard.data.cooccurrence import cooccurrence_vectors, slices_of
from regard.data.stream import Stream

VOCABULARY = 14


def stream(ids: list[int]) -> Stream:
    return Stream(np.array(ids), characters=len(ids), tokenizer="")


def two_topics(sentences: int) -> Stream:
    """Pieces 0 to 5 occur together, and so do pieces 6 to 11; 12 occurs anywhere, 13 nowhere."""
    random = np.random.default_rng(1)
    ids: list[int] = []
    for _ in range(sentences):
        first = 6 * random.integers(2)
        ids += [*(first + random.integers(6, size=20)).tolist(), 12]
    return stream(ids)


def test_pieces_with_the_same_neighbours_are_near() -> None:
    vectors, occurrences = cooccurrence_vectors(two_topics(400), VOCABULARY, width=4, window=5)
    assert vectors.shape == (VOCABULARY, 4)
    assert occurrences.sum() == 400 * 21
    assert occurrences[13] == 0
    assert vectors[13].tolist() == [0.0] * 4
    torch.testing.assert_close(vectors[:13].norm(dim=1), torch.ones(13))
    near = vectors[:12] @ vectors[:12].T
    assert near[:6, :6].min() > 0.5
    assert near[6:, 6:].min() > 0.5
    assert near[:6, 6:].max() < 0


def test_only_neighbours_within_the_window_count() -> None:
    # 0 and 1 have the same neighbour two tokens away, and different ones beside them.
    text = stream([0, 2, 4, 5, 6, 7, 1, 3, 4, 5, 6, 7] * 200)
    beside = cooccurrence_vectors(text, 8, width=8, window=1).vectors
    farther = cooccurrence_vectors(text, 8, width=8, window=3).vectors
    assert farther[0] @ farther[1] > beside[0] @ beside[1] + 0.1


def test_the_same_vectors_each_time_and_no_draw_is_used_up() -> None:
    torch.manual_seed(3)
    first = cooccurrence_vectors(two_topics(20), VOCABULARY, width=4, window=2)
    drawn = torch.rand(3)
    torch.manual_seed(3)
    assert torch.equal(drawn, torch.rand(3))
    torch.manual_seed(4)
    again = cooccurrence_vectors(two_topics(20), VOCABULARY, width=4, window=2)
    assert torch.equal(first.vectors, again.vectors)


def test_there_are_no_more_numbers_than_pieces() -> None:
    assert cooccurrence_vectors(two_topics(20), VOCABULARY, 64, 2).vectors.shape == (14, 14)


def test_rare_pieces_are_no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "COLUMNS", 13)  # all that occur
    fewer = cooccurrence_vectors(two_topics(400), VOCABULARY, 4, 5).vectors
    monkeypatch.undo()
    whole = cooccurrence_vectors(two_topics(400), VOCABULARY, 4, 5).vectors
    torch.testing.assert_close(fewer @ fewer.T, whole @ whole.T)
    monkeypatch.setattr(cooccurrence, "COLUMNS", 3)
    assert cooccurrence_vectors(two_topics(400), VOCABULARY, 4, 5).vectors.shape == (VOCABULARY, 3)


def test_slices_come_from_all_over_a_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "SLICES", 3)
    monkeypatch.setattr(cooccurrence, "SLICE_TOKENS", 4)

    def parts(length: int) -> list[list[int]]:
        return [part.tolist() for part in slices_of(stream(list(range(length))))]

    assert parts(6) == [[0, 1, 2, 3], [4, 5]]
    assert parts(11) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
    assert parts(12) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert parts(20) == [[0, 1, 2, 3], [8, 9, 10, 11], [16, 17, 18, 19]]
