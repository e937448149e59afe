"""What training lowers: functions from a model and a batch to a Loss."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor, nn

from regard.data.batch import Batch, TextBatch
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


class NextTokenModel(Protocol):
    """A model that predicts what follows each token."""

    output: nn.Linear

    def features(self, tokens: Tensor) -> Tensor: ...


class CarryingModel(Protocol):
    """One that goes on from what it has read before."""

    output: nn.Linear

    def continued(self, tokens: Tensor, carried: Tensor | None) -> tuple[Tensor, Tensor]: ...


def next_token(model: NextTokenModel, batch: TextBatch, label_smoothing: float = 0.0) -> Loss:
    """Cross-entropy of every token given those before it in its window."""
    features = model.features(batch.tokens)
    return _of_all(features, batch.labels, model.output, label_smoothing)


def next_token_carried(
    model: CarryingModel, batch: TextBatch, label_smoothing: float = 0.0
) -> Loss:
    """The same with all the text before it, though gradients end where the window begins: truncated
    back-propagation through time (Williams and Peng 1990).
    """
    recall = batch.recall
    before = recall.before(batch.tokens) if recall else None
    features, after = model.continued(batch.tokens, before)
    if recall:
        recall.keep(after)
    return _of_all(features, batch.labels, model.output, label_smoothing)


def _of_all(features: Tensor, labels: Tensor, output: nn.Linear, smoothing: float) -> Loss:
    flat = labels.flatten()
    total = linear_cross_entropy(features.flatten(0, 1), output.weight, flat, smoothing)
    return Loss(total, flat.numel())
