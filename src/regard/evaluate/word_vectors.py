"""Validation of word vectors: how well the neighbours of words in other text are predicted."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from regard.data.word_pairs import WordExamples
from regard.evaluate.pairs import device_of
from regard.evaluate.validation import Findings, Sample, timed
from regard.objectives import word_neighbours

# Ranks of words whose neighbours are shown; the most frequent are words like "that".
SHOWN = (50, 100, 200, 400, 800, 1600)


@dataclass(frozen=True)
class HeldOutWords:
    """A validation set of running text, of which every validation draws the same pairs. `samples`
    makes samples of a model.
    """

    examples: WordExamples
    negatives: float
    batch_tokens: int
    samples: Callable[[Any], tuple[Sample, ...]] = lambda model: ()

    def findings(self, model: Any) -> Findings:
        return Findings(self.loss(model, self.starts()), {}, self.samples(model))

    def starts(self) -> Any:
        passage = self.examples.passage
        return np.arange(0, len(self.examples.stream) - passage + 1, passage)

    def seconds(self, model: Any) -> float:
        """About how long `findings` takes, by a few passages."""
        starts = self.starts()
        few = starts[: max(1, 2 * self.batch_tokens // self.examples.passage)]
        return timed(lambda: self.loss(model, few)) * len(starts) / len(few)

    @torch.inference_mode()
    def loss(self, model: Any, starts: Any) -> float:
        objective = partial(word_neighbours, negatives=self.negatives)
        rows = max(1, self.batch_tokens // self.examples.passage)
        total, count = 0.0, 0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            for begin in range(0, len(starts), rows):
                batch = self.examples.batch(starts[begin : begin + rows])
                found = objective(model, batch.to(device_of(model)))
                total, count = total + float(found.total), count + found.count
        return total / count
