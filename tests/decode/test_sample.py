"""Greedy and random sampling: right tokens, right frequencies, no influence between rows."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.decode.contract import Rows
from regard.decode.filters import forbid, no_repeat_ngram, temperature
from regard.decode.sample import _inverse, collect, sample

END = 3


def run(model: Any, names: list[int], limits: list[int], **settings: Any) -> Any:
    state, first = model.start(names)
    return collect(model.step, state, first, max_lengths=torch.tensor(limits), end=END, **settings)


def test_greedy_takes_the_likeliest_token_at_each_step(toy: Any) -> None:
    model = toy(vocabulary=30, end_bonus=2.0)
    names = list(range(16))
    found = run(model, names, [7] * 16)
    assert {each.finished for each in found} == {True, False}
    for name, each in zip(names, found, strict=True):
        tokens = [*each.tokens, END] if each.finished else each.tokens
        assert tokens == model.logits(name, tokens)[:-1].argmax(-1).tolist()
        assert len(tokens) <= 7
        assert each.log_probabilities == model.log_probabilities(name, tokens)
        assert each.score == pytest.approx(sum(each.log_probabilities) / len(tokens))


@pytest.mark.parametrize("seeds", [None, list(range(100, 112))])
def test_the_stream_is_what_is_collected(toy: Any, seeds: list[int] | None) -> None:
    model = toy(vocabulary=30, end_bonus=3.0)
    names, limits = list(range(12)), [1 + 2 * (name % 4) for name in range(12)]
    state, first = model.start(names)
    lengths = torch.tensor(limits)
    stream = list(sample(model.step, state, first, max_lengths=lengths, end=END, seeds=seeds))
    found = run(model, names, limits, seeds=seeds)
    for row, (tokens, each) in enumerate(zip(torch.stack(stream, 1).tolist(), found, strict=True)):
        length = len(each.tokens)
        assert tokens[:length] == each.tokens
        assert set(tokens[length:]) <= {END}
        assert each.finished == (length < limits[row])
    assert len(stream) == max(len(each.tokens) + each.finished for each in found)


def test_the_stream_may_be_left_at_any_time(toy: Any) -> None:
    model = toy()
    state, first = model.start([1, 2])
    stream = sample(
        model.step, state, first, max_lengths=torch.tensor([9, 9]), filters=[forbid([END])]
    )
    assert next(stream).shape == next(stream).shape == (2,)
    assert model.rows_seen == [2, 2]


def test_finished_rows_leave(toy: Any) -> None:
    model = toy()
    run(model, [5, 6, 7], [1, 4, 2], filters=[forbid([END])])
    # The last rows fill the gaps, so that the others keep their places.
    assert model.names_seen == [[5, 6, 7], [7, 6], [6], [6]]
    assert model.selects == [2, 1]


@pytest.mark.parametrize("draw", [False, True])
def test_a_row_gives_the_same_alone_and_in_any_batch(toy: Any, draw: bool) -> None:
    model = toy(vocabulary=40, end_bonus=2.0)
    names = list(range(24))
    limits = [1 + name * 5 % 13 for name in names]
    filters = [no_repeat_ngram(2), temperature(1.3)]

    def several(order: list[int]) -> Any:
        seeds = [1000 + name for name in order] if draw else None
        return run(model, order, [limits[name] for name in order], filters=filters, seeds=seeds)

    alone = [several([name])[0] for name in names]
    shuffle = torch.Generator().manual_seed(0)
    for size in (2, 7, 24):
        order = torch.randperm(24, generator=shuffle)[:size].tolist()
        assert several(order) == [alone[name] for name in order]


def test_filters_see_the_history_and_the_number_of_each_row(toy: Any) -> None:
    model = toy(vocabulary=12, end_bonus=1.0)
    names = [4, 9, 2, 7, 5]
    seen = set()

    def check(scores: Tensor, rows: Rows) -> Tensor:
        for row, (number, tokens) in enumerate(
            zip(rows.sentences.tolist(), rows.tokens.tolist(), strict=True)
        ):
            assert torch.equal(scores[row], model.logits(names[number], tokens)[-1])
            seen.add((number, len(tokens)))
        return scores

    limits = [1, 8, 2, 8, 6]
    assert run(model, names, limits, filters=[check]) == run(model, names, limits)
    assert {(0, 0), (2, 1), (4, 2)} <= seen


def test_log_probabilities_are_the_models_own_whatever_the_filters(toy: Any) -> None:
    model = toy(vocabulary=20)
    filters = [temperature(3.0), forbid([1, 2])]
    for name, each in enumerate(run(model, [0, 1, 2], [5] * 3, filters=filters, seeds=[1, 2, 3])):
        tokens = [*each.tokens, END] if each.finished else each.tokens
        assert each.log_probabilities == model.log_probabilities(name, tokens)


def test_the_score_is_the_sum_over_a_power_of_the_length(toy: Any) -> None:
    for penalty in (0.0, 0.6, 2.0):
        for each in run(toy(end_bonus=1.0), [0, 1, 2], [6] * 3, length_penalty=penalty):
            length = len(each.log_probabilities)
            assert each.score == pytest.approx(sum(each.log_probabilities) / length**penalty)


def test_unscored_greedy_never_normalises(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = run(toy(), [1, 2, 3], [6] * 3)
    for normalise in ("log_softmax", "softmax", "logsumexp"):
        monkeypatch.setattr(torch.Tensor, normalise, None, raising=False)
    unscored = run(toy(), [1, 2, 3], [6] * 3, scored=False)
    assert [each.tokens for each in unscored] == [each.tokens for each in scored]
    assert [(each.log_probabilities, each.score) for each in unscored] == [([], 0.0)] * 3


@pytest.mark.parametrize("value", [1.0, 0.5, 2.0])
def test_frequencies_match_the_distribution(toy: Any, value: float) -> None:
    model, draws = toy(vocabulary=8), 20_000
    found = run(model, [6] * draws, [1] * draws, seeds=range(draws), filters=[temperature(value)])
    counts = torch.zeros(8, dtype=torch.float64)
    for each in found:
        counts[END if each.finished else each.tokens[0]] += 1
    expected = draws * (model.logits(6, [])[0] / value).softmax(-1)
    # The 99.99th percentile of chi-square with 7 degrees of freedom is 29.9.
    assert ((counts - expected) ** 2 / expected).sum() < 29.9


def test_steps_are_drawn_independently(toy: Any) -> None:
    draws = 4_000

    def flat(tokens: Tensor, state: Any) -> Any:
        return torch.zeros(len(tokens), 2), state

    state, first = toy().start([0] * draws)
    stream = sample(
        flat, state, first, max_lengths=torch.full((draws,), 2), end=9, seeds=range(draws)
    )
    one, two = stream
    pairs = torch.bincount(2 * one + two, minlength=4)
    # The 99.99th percentile of chi-square with 3 degrees of freedom is 21.1.
    assert ((pairs - draws / 4) ** 2 / (draws / 4)).sum() < 21.1


@pytest.mark.parametrize("vocabulary", [5, 50, 8000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_impossible_is_never_drawn(vocabulary: int, dtype: torch.dtype) -> None:
    scores = torch.randn(500, vocabulary, generator=torch.Generator().manual_seed(0), dtype=dtype)
    scores[:, 0] = scores[:, -2:] = float("-inf")
    for edge, token in ((0.0, 1), (1 - 2**-24, vocabulary - 3)):
        drawn = _inverse(scores, torch.full((500,), edge))
        assert (scores.gather(1, drawn[:, None]) > float("-inf")).all()
        if vocabulary < 100:
            assert set(drawn.tolist()) == {token}


def test_a_seed_repeats_and_a_longer_limit_begins_the_same(toy: Any) -> None:
    model = toy(vocabulary=50)
    free = {"filters": [forbid([END])]}
    names, seeds = [1] * 6, [7, 7, 8, 9, 10, 11]
    short = run(model, names, [5] * 6, seeds=seeds, **free)
    long = run(model, names, [60] * 6, seeds=seeds, **free)
    assert [each.tokens for each in short] == [each.tokens[:5] for each in long]
    assert long[0] == long[1]
    assert len({tuple(each.tokens) for each in short}) == 5


def test_an_empty_batch_and_wrong_sizes(toy: Any) -> None:
    assert run(toy(), [], []) == []
    with pytest.raises(ValueError, match="max_lengths needs 2 numbers of at least 1"):
        run(toy(), [1, 2], [3, 0])
    with pytest.raises(ValueError, match="one seed for each row: got 1 for 2 rows"):
        run(toy(), [1, 2], [3, 3], seeds=[1])
