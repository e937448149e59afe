"""Search with PyTorch, on the device of the model."""

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import batch_sources
from regard.decode.contract import Filter, Hypothesis, Step
from regard.decode.outputs import outputs
from regard.decode.search import Search
from regard.engines import Abandoned, Stopped, never
from regard.engines.aligner import Aligner
from regard.engines.batches import batches_by_length
from regard.text.tokenizer import Specials

if TYPE_CHECKING:
    from regard.engines import Attention
    from regard.models import Model

Task = TypeVar("Task")
Result = TypeVar("Result")

# The most source pieces in a batch, padding included, counted once per hypothesis of the beam.
BATCH_PIECES = 8192
# The most sentences in a batch, and the most hypotheses of all its sentences.
BATCH_SENTENCES, BATCH_HYPOTHESES = 256, 512
# Fewer sentences than this are not divided among cores.
FEW_SENTENCES = 32
# The most output pieces whose attention is recorded at once.
ALIGNED_PIECES = 2048
OURS = Specials()


class Native:
    """The engine that is always available."""

    def __init__(
        self, model: "Model", specials: Specials = OURS, aligner: Aligner | None = None
    ) -> None:
        self.model = model
        self.specials = specials
        self.aligner = aligner
        # A model records its attention for one caller at a time.
        self._recording = threading.Lock()

    def search(
        self,
        sources: Sequence[list[int]],
        prefixes: Sequence[list[int]],
        search: Search,
        stopped: Stopped = never,
    ) -> list[list[Hypothesis]]:
        return self._search(sources, prefixes, search, stopped, scored=True)

    def best(
        self,
        sources: Sequence[list[int]],
        prefixes: Sequence[list[int]],
        search: Search,
        stopped: Stopped = never,
    ) -> list[list[int]]:
        found = self._search(sources, prefixes, search, stopped, scored=False)
        return [hypotheses[0].tokens for hypotheses in found]

    @torch.no_grad()
    def attention(
        self, sources: Sequence[list[int]], outputs: Sequence[list[int]]
    ) -> "list[Attention | None]":
        from regard.inspect.alignments import Example, cross_weights

        end, start = self.specials.end, self.specials.start
        found: list[Attention | None] = [None] * len(sources)
        lengths = [len(each) + 1 for each in outputs]
        for rows in batches_by_length(lengths, ALIGNED_PIECES, FEW_SENTENCES):
            some = [
                Example([*sources[row], end], [*outputs[row], end], [], [], start) for row in rows
            ]
            with self._recording:
                layers = cross_weights(self.model, some)
            if not layers:
                break
            chosen = self.aligner or Aligner(max(0, len(layers) - 2))
            layer = layers[chosen.layer]
            weights = layer.mean(1) if chosen.head is None else layer[:, chosen.head]
            for row, each in zip(rows, weights.float().numpy(), strict=True):
                first = int(chosen.read)
                found[row] = each[first : len(outputs[row]) + first, : len(sources[row])]
        return found

    def watched(
        self, source: list[int], prefix: list[int], search: Search, watch: Filter
    ) -> list[Hypothesis]:
        """The outputs of one source by beam search; `watch` sees each step."""
        return self._search_batch([source], [prefix], search, never, scored=True, watch=watch)[0]

    def max_length(self, source: list[int], prefix: list[int], search: Search) -> int:
        """The most tokens that an output may have, END counted. It depends only on its own source,
        so that no sentence depends on others in its batch.
        """
        by_ratio = int(search.max_length_ratio * (len(source) + 1)) + 20
        return min(self.model.longest, len(prefix) + by_ratio)

    def _search(
        self,
        sources: Sequence[list[int]],
        prefixes: Sequence[list[int]],
        search: Search,
        stopped: Stopped,
        scored: bool,
    ) -> list[list[Hypothesis]]:
        """Search in batches of similar length; results are in the order of the sources."""

        def search_rows(rows: list[int]) -> list[list[Hypothesis]]:
            return self._search_batch(
                [sources[row] for row in rows],
                [prefixes[row] for row in rows],
                search,
                stopped,
                scored,
            )

        copies = search.beam_size if search.temperature is None else search.n_best
        # Each core gets at least two batches, so that no core gets all the long ones.
        share = math.ceil(len(sources) / (2 * torch.get_num_threads()))
        most = min(BATCH_SENTENCES, max(FEW_SENTENCES, share), max(1, BATCH_HYPOTHESES // copies))
        lengths = [len(each) + 1 for each in sources]
        batches = list(batches_by_length(lengths, BATCH_PIECES, most))
        several = side_by_side if self._device.type == "cpu" else map
        results: list[list[Hypothesis]] = [[] for _ in sources]
        for rows, found in zip(batches, several(search_rows, batches), strict=True):
            for row, hypotheses in zip(rows, found, strict=True):
                results[row] = hypotheses
        return results

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    @torch.inference_mode()
    def _search_batch(
        self,
        sources: list[list[int]],
        prefixes: list[list[int]],
        search: Search,
        stopped: Stopped,
        scored: bool,
        watch: Filter | None = None,
    ) -> list[list[Hypothesis]]:
        device = self._device
        source, mask = batch_sources([np.array([*each, self.specials.end]) for each in sources])
        source, mask = source.to(device), mask.to(device)
        step = stoppable(self.model.step, stopped)  # the type of the state depends on the model
        limits = [
            self.max_length(ids, prefix, search)
            for ids, prefix in zip(sources, prefixes, strict=True)
        ]
        return outputs(
            step,
            self.model.start(source, mask),
            torch.tensor(limits, device=device),
            search,
            self.specials,
            prefixes,
            watch,
            scored,
        )


def stoppable(step: Step[Any], stopped: Stopped) -> Step[Any]:
    """A step function that raises Abandoned once `stopped` says so."""

    def unless_stopped(tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        if stopped():
            raise Abandoned
        return step(tokens, state)

    return unless_stopped


def side_by_side(work: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """The results of all tasks, in order. Each core works on a task of its own, since the matrix
    products of one step are too small to be divided among cores.
    """
    cores = torch.get_num_threads()
    workers = min(cores, len(tasks))
    if workers < 2:
        return [work(task) for task in tasks]
    own = cores // workers
    with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(own,)) as pool:
        try:
            return list(pool.map(work, tasks))
        finally:
            torch.set_num_threads(cores)  # what a worker sets also applies to later threads
