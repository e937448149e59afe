"""Filters: functions that say which tokens may come next, or how sharply to choose.

They run in the order given. Each one chooses among the tokens that the earlier ones left. If that
would leave a row without any token, the row stays as it was. So `forced_prefix` belongs first.

R rows, V vocabulary, T tokens so far.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.decode.contract import NEVER, Filter, Rows


def temperature(value: float) -> Filter:
    """Divide the scores: below 1, likely tokens become likelier; above 1, outputs vary more."""
    if not value > 0:
        raise ValueError(f"temperature must be above 0, got {value}")
    return lambda scores, rows: scores / value


def top_k(k: int) -> Filter:
    """Keep the k best tokens, and those that tie with the last of them."""
    if k < 1:
        raise ValueError(f"top_k must be at least 1, got {k}")

    def keep(scores: Tensor, rows: Rows) -> Tensor:
        if k >= scores.shape[-1]:
            return scores
        worst = scores.topk(k).values[:, -1:]
        return scores.masked_fill(scores < worst, NEVER)

    return keep


def top_p(p: float) -> Filter:
    """Keep the fewest best tokens whose probabilities sum to at least p, and those that tie with
    the last of them.
    """
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, got {p}")

    def keep(scores: Tensor, rows: Rows) -> Tensor:
        if p == 1:
            return scores
        probabilities = scores.softmax(-1)
        # Sorting a whole vocabulary is slow, and a few hundred tokens nearly always reach p.
        ranked = probabilities.topk(min(512, scores.shape[-1])).values
        if not (ranked.cumsum(-1)[:, -1] >= p).all():
            ranked = probabilities.sort(dim=-1, descending=True).values
        short = (ranked.cumsum(-1) < p).sum(-1, keepdim=True)  # how many do not reach p
        worst = ranked.gather(-1, short.clamp(max=ranked.shape[-1] - 1))
        return scores.masked_fill(probabilities < worst, NEVER)

    return keep


def forbid(ids: Sequence[int]) -> Filter:
    """Never choose these tokens. It is part of every search, so it works in place."""
    forbidden = torch.tensor(ids, dtype=torch.long)

    def keep(scores: Tensor, rows: Rows) -> Tensor:
        columns = forbidden.to(scores.device)
        before = scores.index_select(1, columns)
        scores.index_fill_(1, columns, NEVER)
        # One possible token is enough, and the last one nearly always is possible.
        if bool((scores[:, -1] == NEVER).any()):
            hopeless = scores.amax(-1, keepdim=True) == NEVER
            scores.index_copy_(1, columns, before.where(hopeless, NEVER))
        return scores

    return keep


def min_length(length: int, end: int) -> Filter:
    """Allow no END before this many tokens."""
    forbid_end = forbid([end])

    def keep(scores: Tensor, rows: Rows) -> Tensor:
        return forbid_end(scores, rows) if rows.tokens.shape[1] < length else scores

    return keep


def no_repeat_ngram(n: int) -> Filter:
    """Allow no n-gram twice in one output. END has never been produced before, so it stays."""
    if n < 1:
        raise ValueError(f"no_repeat_ngram must be at least 1, got {n}")

    def keep(scores: Tensor, rows: Rows) -> Tensor:
        produced = rows.tokens.shape[1]
        if produced < n:
            return scores
        ngrams = rows.tokens.unfold(1, n, 1)  # [R, T - n + 1, n]
        recent = rows.tokens[:, None, produced - n + 1 :]  # [R, 1, n - 1]
        row, place = (ngrams[..., :-1] == recent).all(-1).nonzero(as_tuple=True)
        masked = scores.clone()
        masked[row, ngrams[row, place, -1]] = NEVER
        return _unless_nothing_left(masked, scores)

    return keep


def forced_prefix(prefixes: Sequence[Sequence[int]]) -> Filter:
    """Begin the output of sentence i with `prefixes[i]`; an empty prefix leaves it free."""
    longest = max((len(prefix) for prefix in prefixes), default=0)
    table = torch.tensor([[*prefix] + [-1] * (longest - len(prefix)) for prefix in prefixes])

    def keep(scores: Tensor, rows: Rows) -> Tensor:
        position = rows.tokens.shape[1]
        if position >= longest:
            return scores
        forced = table.to(scores.device)[rows.sentences, position][:, None]  # [R, 1]
        token = forced.clamp(min=0)
        only = torch.full_like(scores, NEVER).scatter(1, token, scores.gather(1, token))
        return _unless_nothing_left(torch.where(forced >= 0, only, scores), scores)

    return keep


def _unless_nothing_left(masked: Tensor, scores: Tensor) -> Tensor:
    hopeless = masked.amax(-1, keepdim=True) == NEVER
    return torch.where(hopeless, scores, masked)
