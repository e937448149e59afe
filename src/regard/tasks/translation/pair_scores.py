"""What a trained translator thinks of pairs: a second pass of cleaning."""

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from regard.cleaning.fit import design, logistic, made_wrong, noise_chance, share_of_noise
from regard.errors import DataError

if TYPE_CHECKING:
    from regard.tasks.translation.translator import Translator

Texts = Sequence[tuple[str, str]]
Floats = npt.NDArray[np.float64]

LEAST_PAIRS, MOST_PAIRS = 200, 2000
ROWS = 64
LONGEST = 512  # pieces of a side


class PairScorer:
    """How likely each pair is to be noise, by how likely the model holds its target. Pairs that are
    made wrong on purpose show what the model says of noise.
    """

    def __init__(self, translator: "Translator", sample: Texts) -> None:
        self.translator = translator
        if len(sample) < LEAST_PAIRS:
            raise DataError(
                f"{len(sample):,} pairs are too few to learn from what a model's score says of"
                f" them; give at least {LEAST_PAIRS}, or leave --score out"
            )
        good, bad = self.signs(sample), self.signs(made_wrong(sample, Random(1)))
        self.means, self.spreads = good.mean(0), np.maximum(good.std(0), 1e-6)
        good, bad = ((each - self.means) / self.spreads for each in (good, bad))
        self.weights = logistic(good, bad)
        self.noise = share_of_noise(design(good) @ self.weights)

    @classmethod
    def of(cls, translator: "Translator", sample: Texts) -> Self:
        step = max(1, len(sample) // MOST_PAIRS)
        return cls(translator, sample[::step][:MOST_PAIRS])

    def chances(self, pairs: Texts) -> list[float]:
        if not pairs:
            return []
        signs = (self.signs(pairs) - self.means) / self.spreads
        chances: list[float] = noise_chance(design(signs) @ self.weights, self.noise).tolist()
        return chances

    def signs(self, pairs: Texts) -> Floats:
        """The mean and the lowest log-probability of the target's pieces, and their number."""
        import torch

        from regard.data.batch import batch_pairs

        source, target = self.translator.tokenizers
        ids = [
            (source.encode(one)[:LONGEST], target.encode(other)[:LONGEST]) for one, other in pairs
        ]
        order = sorted(range(len(ids)), key=lambda row: len(ids[row][1]))
        found = np.zeros((len(pairs), 3))
        model = self.translator.model
        device = next(model.parameters()).device
        for first in range(0, len(order), ROWS):
            rows = order[first : first + ROWS]
            batch = batch_pairs(
                [[*ids[row][0], source.specials.end] for row in rows],
                [[*ids[row][1], target.specials.end] for row in rows],
                target.specials.start,
            ).to(device)
            with torch.inference_mode():
                features = model.features(batch.source, batch.source_mask, batch.target)
                logits = model.output(features).log_softmax(-1)
                said = logits.gather(2, batch.labels[..., None])[..., 0]
                said = said.masked_fill(~batch.label_mask, 0.0)
                counts = batch.label_mask.sum(1)
                table = torch.stack((said.sum(1) / counts, said.min(1).values, counts.log1p()), 1)
            found[rows] = table.double().cpu().numpy()
        return found
