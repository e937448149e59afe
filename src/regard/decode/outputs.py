"""The outputs of a search, whatever the model: with a beam, greedily, or drawn at random."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.decode import filters
from regard.decode.beam import beam
from regard.decode.contract import Filter, Hypothesis, Step
from regard.decode.sample import collect
from regard.decode.search import Search
from regard.text.tokenizer import Specials


def outputs(
    step: Step[Any],
    state: Any,
    max_lengths: Tensor,
    search: Search,
    specials: Specials,
    prefixes: Sequence[list[int]] = (),
    watch: Filter | None = None,
    scored: bool = True,
) -> list[list[Hypothesis]]:
    """Up to n_best outputs for each row of a state, best first.

    `max_lengths` [rows] limits their tokens, END counted; `prefixes` are what they begin with;
    `watch` sees each step, which is then one of beam search.
    """
    copies = 1 if search.temperature is None else search.n_best
    count, device = len(max_lengths), max_lengths.device
    if copies > 1:
        state = state.select(torch.arange(count, device=device).repeat_interleave(copies))
    chosen = search.filters(specials)
    if any(prefixes):
        repeated = [prefix for prefix in prefixes for _ in range(copies)]
        chosen.insert(0, filters.forced_prefix(repeated))
    if watch is not None:
        chosen.append(watch)
    first = torch.full((count * copies,), specials.start, device=device)
    max_lengths = max_lengths.repeat_interleave(copies)
    if watch is not None or (search.temperature is None and search.beam_size > 1):
        return beam(
            step,
            state,
            first,
            max_lengths=max_lengths,
            beam_size=search.beam_size,
            n_best=search.n_best,
            length_penalty=search.length_penalty,
            end=specials.end,
            filters=chosen,
        )
    greedy = search.temperature is None  # the result of a beam of one, with less work
    drawn = collect(
        step,
        state,
        first,
        max_lengths=max_lengths,
        end=specials.end,
        filters=chosen,
        seeds=None if greedy else [search.seed + i % copies for i in range(len(first))],
        length_penalty=search.length_penalty if greedy else 1.0,
        scored=scored or copies > 1,
    )
    groups = [drawn[i : i + copies] for i in range(0, len(drawn), copies)]
    return [sorted(group, key=lambda each: -each.score) for group in groups]
