"""Search with PyTorch, on whatever device the model is."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from regard.data.batch import batch_sources
from regard.decode import filters
from regard.decode.beam import beam
from regard.decode.contract import Hypothesis
from regard.decode.sample import collect
from regard.search import Search
from regard.text.tokenizer import END, START

if TYPE_CHECKING:
    from regard.models import Model

# Source pieces, padding included, that are translated together for each hypothesis of the beam.
BATCH_PIECES = 4096
# Sentences, and hypotheses of all of them, that are translated together.
BATCH_SENTENCES, BATCH_HYPOTHESES = 128, 1024


class Native:
    """The engine that is always there."""

    def __init__(self, model: "Model") -> None:
        self.model = model

    def search(
        self, sources: Sequence[list[int]], prefixes: Sequence[list[int]], search: Search
    ) -> list[list[Hypothesis]]:
        """Searched in batches of like length, given in order."""
        results: list[list[Hypothesis]] = [[] for _ in sources]
        copies = search.beam_size if search.temperature is None else search.n_best
        most = min(BATCH_SENTENCES, max(1, BATCH_HYPOTHESES // copies))
        for rows in batches_by_length([len(each) + 1 for each in sources], BATCH_PIECES, most):
            found = self._search_batch(
                [sources[row] for row in rows], [prefixes[row] for row in rows], search
            )
            for row, hypotheses in zip(rows, found, strict=True):
                results[row] = hypotheses
        return results

    @torch.inference_mode()
    def _search_batch(
        self, sources: list[list[int]], prefixes: list[list[int]], search: Search
    ) -> list[list[Hypothesis]]:
        device = next(self.model.parameters()).device
        source, mask = batch_sources([np.array([*each, END]) for each in sources])
        source, mask = source.to(device), mask.to(device)
        copies = 1 if search.temperature is None else search.n_best
        state = self.model.start(source, mask)
        # Each limit follows from its own source, so that no sentence depends on its neighbours.
        limits = [
            min(
                self.model.longest,
                len(prefix) + int(search.max_length_ratio * (len(ids) + 1)) + 20,
            )
            for ids, prefix in zip(sources, prefixes, strict=True)
        ]
        chosen = search.filters()
        if copies > 1:
            rows = torch.arange(len(sources), device=device).repeat_interleave(copies)
            state = state.select(rows)
        if any(prefixes):
            repeated = [prefix for prefix in prefixes for _ in range(copies)]
            chosen.insert(0, filters.forced_prefix(repeated))
        first = torch.full((len(sources) * copies,), START, device=device)
        max_lengths = torch.tensor(limits, device=device).repeat_interleave(copies)
        if search.temperature is None:
            return beam(
                self.model.step,
                state,
                first,
                max_lengths=max_lengths,
                beam_size=search.beam_size,
                n_best=search.n_best,
                length_penalty=search.length_penalty,
                end=END,
                filters=chosen,
            )
        seeds = [search.seed + copy for _ in sources for copy in range(copies)]
        drawn = collect(
            self.model.step,
            state,
            first,
            max_lengths=max_lengths,
            end=END,
            filters=chosen,
            seeds=seeds,
        )
        groups = [drawn[i : i + copies] for i in range(0, len(drawn), copies)]
        return [sorted(group, key=lambda each: -each.score) for group in groups]


def batches_by_length(lengths: Sequence[int], pieces: int, most: int) -> Iterator[list[int]]:
    """Rows of like length together, longest first: at most `most` of them, and at most `pieces`
    pieces with padding.
    """
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    start = 0
    while start < len(order):
        count = max(1, min(most, pieces // lengths[order[start]]))
        yield order[start : start + count]
        start += count
