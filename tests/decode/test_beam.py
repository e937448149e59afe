"""Beam search compared with exhaustive search, with a plain version of its rules, with itself."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.decode.beam import beam
from regard.decode.contract import Rows
from regard.decode.filters import forbid, forced_prefix, min_length, no_repeat_ngram, temperature
from regard.decode.hypothesis import Hypothesis
from regard.decode.sample import collect

END = 3


def search(model: Any, names: Sequence[int], limits: int | Sequence[int], **settings: Any) -> Any:
    state, first = model.start(names)
    lengths = torch.tensor([limits] * len(names) if isinstance(limits, int) else limits)
    return beam(model.step, state, first, max_lengths=lengths, end=END, **settings)


def plain_beam(
    model: Any, name: int, limit: int, size: int, penalty: float
) -> list[tuple[bool, float, tuple[int, ...]]]:
    """The rules, one sentence and one hypothesis at a time."""
    alive: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    found: list[tuple[bool, float, tuple[int, ...]]] = []
    for length in range(1, limit + 1):
        candidates = []
        for total, tokens in alive:
            scores = model.logits(name, tokens)[-1].log_softmax(-1).tolist()
            candidates += [(total + score, (*tokens, v)) for v, score in enumerate(scores)]
        candidates = sorted(candidates, reverse=True)[: 2 * size]
        for total, tokens in candidates[:size]:
            if tokens[-1] == END or length == limit:
                found.append((tokens[-1] == END, total / length**penalty, tokens))
        alive = [each for each in candidates if each[1][-1] != END][:size]
        if len(found) >= size or not alive:
            break
    return sorted(found, reverse=True)


def as_tuple(hypothesis: Hypothesis) -> tuple[int, ...]:
    return (*hypothesis.tokens, END) if hypothesis.finished else tuple(hypothesis.tokens)


def assert_same(found: list[Hypothesis], expected: list[Any]) -> None:
    assert [as_tuple(each) for each in found] == [tokens for _, _, tokens in expected]
    assert [each.finished for each in found] == [finished for finished, _, _ in expected]
    assert [each.score for each in found] == pytest.approx([score for _, score, _ in expected])


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize(("vocabulary", "limit"), [(4, 1), (4, 2), (4, 4), (5, 3), (7, 2)])
def test_a_beam_as_wide_as_the_tree_is_exhaustive_search(
    toy: Any, vocabulary: int, limit: int, penalty: float
) -> None:
    model = toy(vocabulary=vocabulary, seed=limit)
    words = [token for token in range(vocabulary) if token != END]
    width = vocabulary**limit
    expected = []
    for length in range(1, limit + 1):
        for body in itertools.product(words, repeat=length - 1):
            for last in range(vocabulary) if length == limit else [END]:
                tokens = (*body, last)
                score = sum(model.log_probabilities(1, tokens)) / length**penalty
                expected.append((last == END, score, tokens))
    expected.sort(reverse=True)

    [found] = search(model, [1], limit, beam_size=width, n_best=width, length_penalty=penalty)

    assert_same(found, expected)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("vocabulary", [4, 6, 101, 403])
def test_the_rules_written_plainly_give_the_same(toy: Any, vocabulary: int, seed: int) -> None:
    model = toy(vocabulary=vocabulary, seed=seed, end_bonus=[0.0, 2.0, 4.0][seed % 3])
    size, limit, penalty = [1, 2, 3, 5][seed % 4], [3, 8, 12][seed % 3], [0.0, 1.0, 0.7][seed % 3]
    names = [3, 0, 8]

    found = search(model, names, limit, beam_size=size, n_best=size, length_penalty=penalty)

    for name, each in zip(names, found, strict=True):
        assert_same(each, plain_beam(model, name, limit, size, penalty)[:size])


@pytest.mark.parametrize("seed", range(10))
def test_beam_of_one_is_greedy(toy: Any, seed: int) -> None:
    model = toy(seed=seed, end_bonus=1.0)
    names, limits = list(range(20)), torch.arange(20) % 9 + 1
    state, first = model.start(names)

    greedy = collect(model.step, state, first, max_lengths=limits, end=END)
    narrow = search(model, names, limits.tolist(), beam_size=1)

    assert [[each] for each in greedy] == narrow


def test_a_sentence_gives_the_same_alone_and_in_any_batch(toy: Any) -> None:
    model = toy(vocabulary=50, end_bonus=3.0)
    names = list(range(24))
    limits = [1 + name * 5 % 13 for name in names]
    alone = [
        search(model, [name], limit, beam_size=4, n_best=4)[0]
        for name, limit in zip(names, limits, strict=True)
    ]
    shuffle = torch.Generator().manual_seed(0)
    for size in (2, 7, 24):
        order = torch.randperm(24, generator=shuffle)[:size].tolist()
        together = search(model, order, [limits[name] for name in order], beam_size=4, n_best=4)
        assert together == [alone[name] for name in order]


def test_many_rows_of_a_large_vocabulary_are_ranked_like_few(toy: Any) -> None:
    model = toy(vocabulary=20_000, dtype=torch.float32)
    together = search(model, list(range(10)), 3, beam_size=3, n_best=3)
    assert together == [search(model, [name], 3, beam_size=3, n_best=3)[0] for name in range(10)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_coarse_logits_are_scored_finely(toy: Any, dtype: torch.dtype) -> None:
    model = toy(vocabulary=9, dtype=dtype, end_bonus=1.0)
    for [best] in search(model, list(range(8)), 6, beam_size=3):
        assert best.score == pytest.approx(
            sum(best.log_probabilities) / len(best.log_probabilities), rel=1e-6
        )
    [[best]] = search(model, [5], 6, beam_size=3)
    assert best.log_probabilities == pytest.approx(model.log_probabilities(5, as_tuple(best)))


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_scores_are_those_of_the_tokens_and_the_best_come_first(toy: Any, penalty: float) -> None:
    model = toy(vocabulary=30, end_bonus=2.0)
    names = list(range(12))
    for name, found in zip(
        names,
        search(model, names, 7, beam_size=6, n_best=6, length_penalty=penalty),
        strict=True,
    ):
        for each in found:
            expected = model.log_probabilities(name, as_tuple(each))
            assert each.log_probabilities == expected
            assert each.score == pytest.approx(sum(expected) / len(expected) ** penalty)
            assert END not in each.tokens
        ranks = [(each.finished, each.score) for each in found]
        assert ranks == sorted(ranks, reverse=True)
        assert len({as_tuple(each) for each in found}) == len(found) == 6


def test_finished_sentences_leave_and_the_others_stay_together(toy: Any) -> None:
    model = toy(vocabulary=20)
    search(model, [10, 11, 12, 13], [2, 5, 3, 5], beam_size=3, filters=[forbid([END])])
    assert model.rows_seen == [4, 12, 9, 6, 6]
    # The last rows fill the gaps, so that the others keep their places.
    assert model.names_seen[2] == [13] * 3 + [11] * 3 + [12] * 3
    assert model.names_seen[-1] == [13] * 3 + [11] * 3


def test_nothing_is_selected_when_nothing_moves(toy: Any) -> None:
    model = toy()
    search(model, [1, 2, 3], [9, 9, 4], beam_size=1, filters=[forbid([END])])
    assert model.selects == [2]


def test_more_beams_than_continuations(toy: Any) -> None:
    model = toy(vocabulary=5)
    # Only END may follow: one output, whatever the width.
    [found] = search(model, [1], 4, beam_size=50, n_best=50, filters=[forbid([0, 1, 2, 4])])
    assert [as_tuple(each) for each in found] == [(END,)]
    assert found[0].finished
    assert model.rows_seen == [1]
    [found] = search(model, [1], 2, beam_size=50, n_best=50)
    assert len(found) == 1 + 4 * 5
    assert all(each.score > float("-inf") for each in found)


def test_what_the_limit_cuts_off_is_not_finished(toy: Any) -> None:
    model = toy()
    [found] = search(model, [1], 4, beam_size=3, n_best=3, filters=[forbid([END])])
    assert [len(each.tokens) for each in found] == [4, 4, 4]
    assert not any(each.finished for each in found)
    assert all(len(each.log_probabilities) == 4 for each in found)


def test_a_forced_prefix_keeps_the_true_score(toy: Any) -> None:
    model = toy(vocabulary=40, end_bonus=2.0)
    prefixes = [[7, 9, 9], [], [30], [5, 5]]
    # The limits make some sentences finish before others; they must keep the numbers of the call.
    found = search(
        model,
        [0, 1, 2, 3],
        [4, 1, 9, 9],
        beam_size=4,
        n_best=2,
        filters=[forced_prefix(prefixes), no_repeat_ngram(1)],
    )
    for name, (prefix, outputs) in enumerate(zip(prefixes, found, strict=True)):
        assert outputs
        for each in outputs:
            assert each.tokens[: len(prefix)] == prefix
            rest = each.tokens[len(prefix) :]
            assert len(set(rest)) == len(rest)
            assert not set(rest) & set(prefix)
            assert each.log_probabilities == model.log_probabilities(name, as_tuple(each))


def test_filters_see_the_history_and_the_sentence_of_each_row(toy: Any) -> None:
    model = toy(vocabulary=12, end_bonus=2.0)
    names = [4, 9, 2, 7, 5]
    seen = []

    def check(scores: Tensor, rows: Rows) -> Tensor:
        for row, (sentence, tokens) in enumerate(
            zip(rows.sentences.tolist(), rows.tokens.tolist(), strict=True)
        ):
            if END not in tokens:
                expected = model.logits(names[sentence], tokens)[-1].log_softmax(-1)
                assert torch.equal(scores[row], expected)
                seen.append((sentence, len(tokens)))
        return scores

    limits = [3, 8, 2, 8, 6]
    watched = search(model, names, limits, beam_size=3, filters=[check])
    assert watched == search(model, names, limits, beam_size=3)
    assert {(1, 0), (2, 1), (3, 4)} <= set(seen)


def test_length_and_temperature_filters(toy: Any) -> None:
    model = toy(end_bonus=4.0)
    [[short]] = search(model, [2], 9, beam_size=3)
    [[long]] = search(model, [2], 9, beam_size=3, filters=[min_length(6, END)])
    assert len(short.tokens) < 6 <= len(long.tokens)
    [[cool]] = search(model, [2], 9, beam_size=3, filters=[temperature(2.0)])
    assert cool.tokens == short.tokens
    assert cool.score == pytest.approx(short.score / 2)


def test_an_empty_batch_and_wrong_sizes(toy: Any) -> None:
    model = toy()
    assert search(model, [], []) == []
    with pytest.raises(ValueError, match="n_best must be from 1 to the beam size 2, got 3"):
        search(model, [1], 5, beam_size=2, n_best=3)
    with pytest.raises(ValueError, match="max_lengths needs 1 numbers of at least 1"):
        search(model, [1], 0)
