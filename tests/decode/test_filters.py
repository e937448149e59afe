"""Filters compared with their definitions, one row and one token at a time."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.decode.contract import Rows
from regard.decode.filters import (
    forbid,
    forced_prefix,
    min_length,
    no_repeat_ngram,
    temperature,
    top_k,
    top_p,
)

NEVER = float("-inf")
numbers = st.one_of(st.integers(-4, 4).map(float), st.just(NEVER))
tables = st.integers(1, 12).flatmap(
    lambda width: st.lists(
        st.lists(numbers, min_size=width, max_size=width), min_size=1, max_size=4
    )
)
quick = settings(max_examples=150, deadline=None)


def rows_of(tokens: list[list[int]]) -> Rows:
    table = torch.tensor(tokens, dtype=torch.long).view(len(tokens), -1)
    return Rows(table, torch.arange(len(tokens)))


def nothing_yet(scores: Tensor) -> Rows:
    return rows_of([[]] * len(scores))


@quick
@given(tables, st.integers(1, 14))
def test_top_k_keeps_what_fewer_than_k_beat(table: list[list[float]], k: int) -> None:
    scores = torch.tensor(table)
    kept = top_k(k)(scores, nothing_yet(scores))
    for before, after in zip(table, kept.tolist(), strict=True):
        for value, result in zip(before, after, strict=True):
            beaten_by = sum(other > value for other in before)
            assert result == (value if beaten_by < k else NEVER)


@quick
@given(tables, st.sampled_from([0.05, 0.3, 0.5, 0.9, 0.999, 1.0]))
def test_top_p_keeps_the_fewest_best_that_reach_p(table: list[list[float]], p: float) -> None:
    scores = torch.tensor(table, dtype=torch.float64)
    kept = top_p(p)(scores, nothing_yet(scores))
    assert not kept.isnan().any()
    for before, after in zip(table, kept.tolist(), strict=True):
        total = sum(math.exp(value) for value in before)
        if not total:
            assert after == before
            continue
        chosen = sorted((value for value in after if value > NEVER), reverse=True)
        left_out = [b for b, a in zip(before, after, strict=True) if a != b]
        assert min(chosen) > max(left_out, default=NEVER)
        assert sum(math.exp(value) for value in chosen) / total >= p - 1e-9
        better = [math.exp(value) for value in chosen if value > chosen[-1]]
        assert sum(better) / total < p + 1e-9


def test_top_p_of_a_flat_and_a_peaked_row_of_a_large_vocabulary() -> None:
    scores = torch.stack((torch.arange(4000) / -1e5, torch.arange(4000) / -1.0))
    rows = nothing_yet(scores)
    together = top_p(0.9)(scores, rows)
    flat, peaked = (together > NEVER).sum(-1).tolist()
    assert 3500 < flat < 3600
    assert peaked == 3
    assert torch.equal(top_p(0.9)(scores[1:], nothing_yet(scores[1:])), together[1:])


@quick
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=9, max_size=9), min_size=1, max_size=4),
    st.integers(0, 9),
    st.integers(1, 4),
)
def test_no_repeat_ngram_forbids_exactly_what_would_repeat(
    tokens: list[list[int]], length: int, n: int
) -> None:
    tokens = [row[:length] for row in tokens]
    scores = torch.randn(len(tokens), 6)
    kept = no_repeat_ngram(n)(scores, rows_of(tokens))
    for row, history in enumerate(tokens):
        ngrams = {tuple(history[i : i + n]) for i in range(len(history) - n + 1)}
        for token in range(6):
            repeats = tuple([*history, token][-n:]) in ngrams
            assert kept[row, token] == (NEVER if repeats else scores[row, token])


def test_a_row_is_never_left_with_nothing() -> None:
    scores = torch.full((2, 5), NEVER)
    scores[:, 3] = -1.0
    rows = rows_of([[3], [3]])
    for keep in (
        forbid([3]),
        min_length(9, 3),
        no_repeat_ngram(1),
        forced_prefix([[3, 1], [3, 2]]),
        top_k(1),
        top_p(0.1),
        temperature(0.1),
    ):
        kept = keep(scores.clone(), rows)
        assert (kept.amax(-1) > NEVER).all()
        assert not kept.isnan().any()
    hopeless = torch.full((1, 5), NEVER)
    for keep in (forbid([1]), top_k(2), top_p(0.5), no_repeat_ngram(1), forced_prefix([[3, 1]])):
        assert torch.equal(keep(hopeless.clone(), rows_of([[3]])), hopeless)


@quick
@given(tables, st.sets(st.integers(0, 11), max_size=5))
def test_forbid_leaves_the_others_and_a_row_without_others(
    table: list[list[float]], ids: set[int]
) -> None:
    ids = {token for token in ids if token < len(table[0])}
    kept = forbid(sorted(ids))(torch.tensor(table), rows_of([[]] * len(table))).tolist()
    for before, after in zip(table, kept, strict=True):
        others = [NEVER if token in ids else value for token, value in enumerate(before)]
        assert after == (others if max(others) > NEVER else before)


def test_forbid_and_min_length() -> None:
    def scores() -> Tensor:
        return torch.zeros(1, 5)

    assert forbid([0, 4])(scores(), rows_of([[]])).tolist() == [[NEVER, 0, 0, 0, NEVER]]
    assert torch.equal(forbid([])(scores(), rows_of([[]])), scores())
    assert min_length(2, 3)(scores(), rows_of([[1]])).tolist() == [[0, 0, 0, NEVER, 0]]
    assert torch.equal(min_length(2, 3)(scores(), rows_of([[1, 1]])), scores())


def test_forced_prefix_follows_the_sentence_not_the_row() -> None:
    scores = torch.randn(3, 6)
    force = forced_prefix([[1, 2], [], [4]])
    kept = force(scores, Rows(torch.empty(3, 0, dtype=torch.long), torch.tensor([2, 1, 0])))
    assert torch.equal(kept[1], scores[1])
    for row, token in ((0, 4), (2, 1)):
        assert (kept[row] > NEVER).nonzero().tolist() == [[token]]
        assert kept[row, token] == scores[row, token]
    later = force(scores[:2], Rows(torch.tensor([[4], [1]]), torch.tensor([2, 0])))
    assert torch.equal(later[0], scores[0])
    assert (later[1] > NEVER).nonzero().tolist() == [[2]]
    none = forced_prefix([[], []])
    assert torch.equal(none(scores[:2], nothing_yet(scores[:2])), scores[:2])


@pytest.mark.parametrize(
    ("make", "value"),
    [(temperature, 0.0), (top_k, 0), (top_p, 0.0), (top_p, 1.5), (no_repeat_ngram, 0)],
)
def test_senseless_settings_are_refused(make: object, value: float) -> None:
    with pytest.raises(ValueError, match=f"got {value}"):
        make(value)  # type: ignore[operator]
