"""What training lowers: functions from a model and a batch to a Loss."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor, nn

from regard.data.batch import Batch
from regard.layers.cross_entropy import linear_cross_entropy


@dataclass(frozen=True)
class Loss:
    """A sum and how many tokens it is over, so that any split of a batch adds up to the same."""

    total: Tensor
    count: int


class TranslationModel(Protocol):
    """A model that reads a source and predicts a target through a final projection."""

    output: nn.Linear

    def features(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor: ...


def translation(model: TranslationModel, batch: Batch, label_smoothing: float = 0.0) -> Loss:
    """Cross-entropy of every target token given the source and the tokens before it."""
    features = model.features(batch.source, batch.source_mask, batch.target)
    real = batch.label_mask
    labels = batch.labels[real]
    total = linear_cross_entropy(features[real], model.output.weight, labels, label_smoothing)
    return Loss(total, labels.numel())
