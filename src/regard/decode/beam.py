"""Beam search over any step function.

At each step the 2K best continuations of a sentence are ranked. Those among the first K that end
are finished hypotheses; the K best that do not end stay alive. A sentence is done with K finished
hypotheses or at its length limit. These are the rules of fairseq and CTranslate2.

S sentences still searched, W rows for each (1 at the first step, then K, the beam size),
V vocabulary, T tokens so far.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from regard.decode.contract import NEVER, Filter, Hypothesis, Rows, StateT, Step
from regard.decode.ranking import best, closed_up

# Numbers in a block of log-probabilities: 2 MB in float32, so that ranking finds them in the cache.
_BLOCK = 2**19


@dataclass(frozen=True)
class _Beams:
    """The hypotheses that are alive, best first. Where there are fewer than W, the score is
    -inf.
    """

    sentences: Tensor  # [S], numbered as in the call
    limits: Tensor  # [S]
    scores: Tensor  # [S, W], sums of log-probabilities
    tokens: Tensor  # [S, W, T]
    log_probabilities: Tensor  # [S, W, T]


@dataclass(frozen=True)
class _Candidates:
    """The continuations of each sentence, best first, [S, 2K]. Where there are fewer, the score is
    -inf.
    """

    scores: Tensor
    parents: Tensor  # which of the W rows is continued
    tokens: Tensor
    log_probabilities: Tensor


@torch.no_grad()
def beam(
    step: Step[StateT],
    state: StateT,
    first: Tensor,
    *,
    max_lengths: Tensor,
    beam_size: int = 5,
    n_best: int = 1,
    length_penalty: float = 1.0,
    end: int = 3,
    filters: Sequence[Filter] = (),
) -> list[list[Hypothesis]]:
    """The n_best hypotheses of each sentence, best first: finished ones, then cut-off ones.

    `first` [sentences] are the tokens to begin with; `max_lengths` [sentences] limit the number of
    tokens, END counted. A score is the sum of log-probabilities divided by
    length ** length_penalty, END counted in both. Filters change the log-probabilities that scores
    are made of. A sentence with fewer possible outputs than n_best gets fewer.
    """
    if not 1 <= n_best <= beam_size:
        raise ValueError(f"n_best must be from 1 to the beam size {beam_size}, got {n_best}")
    if len(max_lengths) != len(first) or bool((max_lengths < 1).any()):
        raise ValueError(f"max_lengths needs {len(first)} numbers of at least 1, got {max_lengths}")
    results: list[list[Hypothesis]] = [[] for _ in first]
    tokens, beams = first, _begin(first, max_lengths)
    while len(tokens):
        logits, state = step(tokens, state)
        candidates = _expand(beams, logits, 2 * beam_size, end, filters)
        alive = _alive(candidates, beam_size, end)
        remaining = _close(results, beams, candidates, alive, length_penalty, end)
        rows, beams = _advance(beams, alive, remaining)
        if len(rows) and _needs_reordering(rows, len(tokens)):
            state = state.select(rows)
        tokens = beams.tokens[:, :, -1].flatten()
    ranked = (sorted(found, key=lambda each: (not each.finished, -each.score)) for found in results)
    return [found[:n_best] for found in ranked]


def _begin(first: Tensor, max_lengths: Tensor) -> _Beams:
    count, device = len(first), first.device
    return _Beams(
        sentences=torch.arange(count, device=device),
        limits=max_lengths.to(device),
        scores=torch.zeros(count, 1, device=device),
        tokens=first.new_empty(count, 1, 0),
        log_probabilities=torch.empty(count, 1, 0, device=device),
    )


def _expand(
    beams: _Beams, logits: Tensor, count: int, end: int, filters: Sequence[Filter]
) -> _Candidates:
    """The `count` best continuations of each sentence.

    At the first step, or with a small vocabulary, there can be fewer; the rest is padding.
    """
    sentences, width = beams.scores.shape
    values, tokens = _best_tokens(beams, logits, count, filters)  # [S * W, up to count]
    each = values.shape[1]
    totals = (beams.scores[:, :, None] + values.view(sentences, width, each)).flatten(1)
    scores, order = totals.topk(min(count, totals.shape[1]))
    found = _Candidates(
        scores=scores,
        parents=order // each,
        tokens=tokens.view(sentences, -1).gather(1, order),
        log_probabilities=values.view(sentences, -1).gather(1, order),
    )
    missing = count - scores.shape[1]
    return _padded(found, missing, end) if missing else found


def _padded(candidates: _Candidates, missing: int, end: int) -> _Candidates:
    """Add `missing` columns of END with score -inf, which never finish and are never alive."""
    return _Candidates(
        scores=pad(candidates.scores, (0, missing), value=NEVER),
        parents=pad(candidates.parents, (0, missing)),
        tokens=pad(candidates.tokens, (0, missing), value=end),
        log_probabilities=pad(candidates.log_probabilities, (0, missing), value=NEVER),
    )


def _best_tokens(
    beams: _Beams, logits: Tensor, count: int, filters: Sequence[Filter]
) -> tuple[Tensor, Tensor]:
    """Log-probabilities and ids of the best tokens of each row, [S * W, count] or fewer."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    size = max(1, _BLOCK // logits.shape[1]) if logits.is_cpu else len(logits)
    rows = Rows(
        tokens=beams.tokens.flatten(0, 1),
        sentences=beams.sentences.repeat_interleave(beams.scores.shape[1]),
    )
    found = []
    for block, tokens, sentences in zip(
        logits.split(size), rows.tokens.split(size), rows.sentences.split(size), strict=True
    ):
        scores = block.log_softmax(-1)
        for keep in filters:
            scores = keep(scores, Rows(tokens, sentences))
        found.append(best(scores, count))
    return torch.cat([values for values, _ in found]), torch.cat([ids for _, ids in found])


def _alive(candidates: _Candidates, beam_size: int, end: int) -> _Candidates:
    """The first `beam_size` that do not end, in their order."""
    ended = candidates.tokens == end
    order = ended.byte().argsort(dim=1, stable=True)[:, :beam_size]
    return _Candidates(
        scores=candidates.scores.masked_fill(ended, NEVER).gather(1, order),
        parents=candidates.parents.gather(1, order),
        tokens=candidates.tokens.gather(1, order),
        log_probabilities=candidates.log_probabilities.gather(1, order),
    )


def _close(
    results: list[list[Hypothesis]],
    beams: _Beams,
    candidates: _Candidates,
    alive: _Candidates,
    length_penalty: float,
    end: int,
) -> Tensor | None:
    """Add finished hypotheses to the results. Returns the places of the sentences that continue, or
    None if all do.
    """
    beam_size, length = alive.scores.shape[1], beams.tokens.shape[2] + 1
    at_limit = (beams.limits == length)[:, None]
    closing = (candidates.tokens[:, :beam_size] == end) | at_limit
    closing &= candidates.scores[:, :beam_size] != NEVER
    over = at_limit | (alive.scores[:, :1] == NEVER)
    marks = torch.cat((closing, over), 1).cpu()  # the only transfer in a step
    if not marks.any():
        return None
    place, rank = marks[:, :-1].nonzero().to(beams.tokens.device).unbind(1)
    for sentence, hypothesis in zip(
        beams.sentences[place].tolist(),
        _hypotheses(beams, candidates, place, rank, length**length_penalty, end),
        strict=True,
    ):
        results[sentence].append(hypothesis)
    remaining = [
        not is_over and len(results[sentence]) < beam_size
        for sentence, is_over in zip(beams.sentences.tolist(), marks[:, -1].tolist(), strict=True)
    ]
    return closed_up(torch.tensor(remaining)).to(beams.tokens.device)


def _hypotheses(
    beams: _Beams, candidates: _Candidates, place: Tensor, rank: Tensor, norm: float, end: int
) -> list[Hypothesis]:
    """The candidates [place, rank] as hypotheses."""
    parent = candidates.parents[place, rank]
    return [
        Hypothesis(
            tokens=tokens if last == end else [*tokens, last],
            log_probabilities=[*known, value],
            score=score / norm,
            finished=last == end,
        )
        for tokens, last, known, value, score in zip(
            beams.tokens[place, parent].tolist(),
            candidates.tokens[place, rank].tolist(),
            beams.log_probabilities[place, parent].tolist(),
            candidates.log_probabilities[place, rank].tolist(),
            candidates.scores[place, rank].tolist(),
            strict=True,
        )
    ]


def _advance(beams: _Beams, alive: _Candidates, remaining: Tensor | None) -> tuple[Tensor, _Beams]:
    """The rows of the state that are continued, and the new beams."""
    count, width = beams.scores.shape
    places = torch.arange(count, device=alive.parents.device) if remaining is None else remaining
    rows = (places[:, None] * width + alive.parents[places]).flatten()
    shape = (len(places), alive.parents.shape[1], beams.tokens.shape[2])
    new = alive.log_probabilities[places, :, None]
    known = beams.log_probabilities.flatten(0, 1)[rows].view(shape).to(new)
    tokens = beams.tokens.flatten(0, 1)[rows].view(shape)
    return rows, _Beams(
        sentences=beams.sentences[places],
        limits=beams.limits[places],
        scores=alive.scores[places],
        tokens=torch.cat((tokens, alive.tokens[places, :, None]), 2),
        log_probabilities=torch.cat((known, new), 2),
    )


def _needs_reordering(rows: Tensor, before: int) -> bool:
    """Whether the state needs a new order. With one sentence, often every beam stays in place."""
    return len(rows) != before or not torch.equal(rows, torch.arange(before, device=rows.device))
