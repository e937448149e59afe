"""Sampling: at each step, each row gets the likeliest token or one drawn at random.

A row's output depends on its own state, filters and seed, never on other rows.
R unfinished rows, V vocabulary, T tokens so far.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.decode.contract import Filter, Hypothesis, Rows, StateT, Step
from regard.decode.ranking import best, closed_up


@dataclass(frozen=True)
class _Drawn:
    rows: Tensor  # [R], numbered as in the call
    tokens: Tensor  # [R]
    log_probabilities: Tensor | None  # [R]


def sample(
    step: Step[StateT],
    state: StateT,
    first: Tensor,
    *,
    max_lengths: Tensor,
    end: int = 3,
    filters: Sequence[Filter] = (),
    seeds: Sequence[int] | None = None,
) -> Iterator[Tensor]:
    """Yield the next token of every row, [rows] for each step, until all rows have ended.

    After END, or after `max_lengths[row]` tokens with END counted, a row yields END only. Without
    seeds the likeliest token is taken; with seeds, one for each row, tokens are drawn from the
    filtered distribution.
    """
    for drawn in _draws(step, state, first, max_lengths, end, filters, seeds, scored=False):
        yield torch.full_like(first, end).index_copy(0, drawn.rows, drawn.tokens)


def collect(
    step: Step[StateT],
    state: StateT,
    first: Tensor,
    *,
    max_lengths: Tensor,
    end: int = 3,
    filters: Sequence[Filter] = (),
    seeds: Sequence[int] | None = None,
    length_penalty: float = 1.0,
    scored: bool = True,
) -> list[Hypothesis]:
    """Collect what `sample` yields into one hypothesis for each row.

    The log-probabilities are the model's own, before any filter; the score is their sum divided by
    length ** length_penalty, END counted in both. `scored=False` saves the normalisation over the
    vocabulary: there are no log-probabilities, and the score is 0.
    """
    tokens: list[list[int]] = [[] for _ in first]
    log_probabilities: list[list[float]] = [[] for _ in first]
    for drawn in _draws(step, state, first, max_lengths, end, filters, seeds, scored=scored):
        rows = drawn.rows.tolist()
        for row, token in zip(rows, drawn.tokens.tolist(), strict=True):
            tokens[row].append(token)
        if drawn.log_probabilities is not None:
            for row, value in zip(rows, drawn.log_probabilities.tolist(), strict=True):
                log_probabilities[row].append(value)
    return [
        _hypothesis(*row, length_penalty, end)
        for row in zip(tokens, log_probabilities, strict=True)
    ]


def _hypothesis(
    tokens: list[int], log_probabilities: list[float], length_penalty: float, end: int
) -> Hypothesis:
    finished = tokens[-1] == end
    return Hypothesis(
        tokens=tokens[:-1] if finished else tokens,
        log_probabilities=log_probabilities,
        score=sum(log_probabilities) / len(tokens) ** length_penalty,
        finished=finished,
    )


@torch.no_grad()
def _draws(
    step: Step[StateT],
    state: StateT,
    first: Tensor,
    max_lengths: Tensor,
    end: int,
    filters: Sequence[Filter],
    seeds: Sequence[int] | None,
    *,
    scored: bool,
) -> Iterator[_Drawn]:
    limits: list[int] = max_lengths.tolist()
    if len(limits) != len(first) or any(limit < 1 for limit in limits):
        raise ValueError(f"max_lengths needs {len(first)} numbers of at least 1, got {limits}")
    uniforms = None if seeds is None else _uniforms(seeds, limits).to(first.device)
    tokens, rows, room = first, torch.arange(len(first), device=first.device), max_lengths.to(first)
    history = first.new_empty(len(first), 0)
    for position in range(max(limits, default=0)):
        logits, state = step(tokens, state)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        # log_softmax is one fused pass, faster than logsumexp over the same row
        known = logits.log_softmax(-1) if scored else None
        scores = logits
        for keep in filters:
            scores = keep(scores, Rows(history, rows))
        if uniforms is None:
            tokens = best(scores, 1)[1][:, 0]
        else:
            tokens = _inverse(scores, uniforms[rows, position])
        chosen = None if known is None else known.gather(1, tokens[:, None])[:, 0]
        yield _Drawn(rows, tokens, chosen)
        if filters:
            history = torch.cat((history, tokens[:, None]), 1)
        staying = (tokens != end) & (room > position + 1)
        places = closed_up(staying)
        if len(places) == 0:
            return
        if len(places) < len(rows):
            state = state.select(places)
            tokens, rows, room = tokens[places], rows[places], room[places]
            history = history[places]


def _uniforms(seeds: Sequence[int], limits: Sequence[int]) -> Tensor:
    """One number in [0, 1) for each row and step, from the row's own generator."""
    if len(seeds) != len(limits):
        raise ValueError(f"one seed for each row: got {len(seeds)} for {len(limits)} rows")
    table = torch.zeros(len(limits), max(limits, default=0))
    for row, (seed, limit) in enumerate(zip(seeds, limits, strict=True)):
        table[row, :limit] = torch.rand(limit, generator=torch.Generator().manual_seed(seed))
    return table


def _inverse(scores: Tensor, uniform: Tensor) -> Tensor:
    """The token at which the cumulative distribution passes `uniform`: [R, V], [R] -> [R]."""
    cumulative = scores.softmax(-1).cumsum(-1)
    # A uniform number is at most 1 - 2**-24, so the point stays below the total even when rounded,
    # and right=True skips tokens of probability 0.
    point = uniform[:, None] * cumulative[:, -1:]
    return torch.searchsorted(cumulative, point, right=True)[:, 0]
