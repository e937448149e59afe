"""What training minimises: functions from a model and a batch to a Loss."""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.data.batch import Batch, TextBatch
from regard.data.caption_batches import CaptionBatch
from regard.data.image_batches import ImageBatch
from regard.data.label_ids import LabelBatch
from regard.data.masked import MaskedBatch
from regard.data.matching_pairs import MatchingBatch
from regard.data.series_windows import SeriesBatch
from regard.data.word_pairs import WordBatch
from regard.layers.cross_entropy import linear_cross_entropy
from regard.layers.distributions import DISTRIBUTIONS
from regard.layers.gather import gathered

# Values that lie further away than this many widths of their window count as if they did not.
FURTHEST = 100.0


@dataclass(frozen=True)
class Loss:
    """A sum over tokens and their number, so that the parts of a batch add up to the whole,
    however it is split.
    """

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
    output = model.output
    total = linear_cross_entropy(
        features[real], output.weight, labels, label_smoothing, output.bias
    )
    return Loss(total, labels.numel())


class NextTokenModel(Protocol):
    """A model that predicts the token after each token."""

    output: nn.Linear

    def features(self, tokens: Tensor) -> Tensor: ...


class CarryingModel(Protocol):
    """A model that continues from the states after what it has read before."""

    output: nn.Linear

    def continued(self, tokens: Tensor, carried: Tensor | None) -> tuple[Tensor, Tensor]: ...


def next_token(model: NextTokenModel, batch: TextBatch, label_smoothing: float = 0.0) -> Loss:
    """Cross-entropy of every token given the tokens before it in its window."""
    features = model.features(batch.tokens)
    return _of_all(features, batch.labels, model.output, label_smoothing)


def next_token_carried(
    model: CarryingModel, batch: TextBatch, label_smoothing: float = 0.0
) -> Loss:
    """Cross-entropy of every token given all the text before it. Gradients stop at the beginning of
    the window: truncated back-propagation through time (Williams and Peng 1990).
    """
    row_states = batch.row_states
    before = row_states.before(batch.tokens) if row_states else None
    features, after = model.continued(batch.tokens, before)
    if row_states:
        row_states.keep(after)
    return _of_all(features, batch.labels, model.output, label_smoothing)


def _of_all(features: Tensor, labels: Tensor, output: nn.Linear, smoothing: float) -> Loss:
    flat = labels.flatten()
    total = linear_cross_entropy(features.flatten(0, 1), output.weight, flat, smoothing)
    return Loss(total, flat.numel())


class LabellingModel(Protocol):
    """A model that predicts a label for each unit of a text."""

    output: nn.Linear

    def features(self, tokens: Tensor, mask: Tensor, units: Tensor) -> Tensor: ...


def labelling(model: LabellingModel, batch: LabelBatch, label_smoothing: float = 0.0) -> Loss:
    """Cross-entropy of the label of every unit: of each text, or of each word."""
    features = model.features(batch.tokens, batch.mask, batch.units)
    real = batch.labels >= 0
    labels = batch.labels[real]
    logits = model.output(features[real].to(model.output.weight.dtype)).float()
    total = F.cross_entropy(logits, labels, label_smoothing=label_smoothing, reduction="sum")
    return Loss(total, labels.numel())


def image_label(
    model: nn.Module,
    batch: ImageBatch,
    label_smoothing: float = 0.0,
    weights: Tensor | None = None,
) -> Loss:
    """Cross-entropy of the label of every image; `weights` [L] says how much each label counts."""
    logits = model(batch.images).float()
    if weights is not None:
        weights = weights.to(logits)
    total = F.cross_entropy(
        logits, batch.labels, weights, label_smoothing=label_smoothing, reduction="sum"
    )
    return Loss(total, len(batch.labels))


def caption(model: Any, batch: CaptionBatch, label_smoothing: float = 0.0) -> Loss:
    """Cross-entropy of every token of a caption given the image and the tokens before it."""
    features = model.features(batch.images, batch.target)
    labels = batch.labels[batch.label_mask]
    total = linear_cross_entropy(
        features[batch.label_mask], model.output.weight, labels, label_smoothing
    )
    return Loss(total, labels.numel())


def masked_token(model: Any, batch: MaskedBatch, label_smoothing: float = 0.0) -> Loss:
    """Cross-entropy of every hidden token. For pairs of sentences, the cross-entropy of whether the
    second follows the first is added to the mean (Devlin et al. 2019, §3.1).
    """
    features = model.features(batch.tokens, batch.mask, batch.segments)
    places = batch.places[..., None].expand(-1, -1, features.size(-1))
    logits = model.output(model.predictions(features.gather(1, places))).float()
    labels = batch.labels.flatten()
    total = F.cross_entropy(
        logits.flatten(0, 1), labels, label_smoothing=label_smoothing, reduction="sum"
    )
    if batch.follows is not None:
        related = model.relation(model.pooled(features)).float()
        total = total + F.cross_entropy(related, batch.follows, reduction="sum") * (
            batch.labels.size(1)
        )
    return Loss(total, labels.numel())


def matching(model: nn.Module, batch: MatchingBatch) -> Loss:
    """How hard it is to find the text of each image among all texts of the batch, and the image of
    each text among all images (Radford et al. 2021). Several processes compare with the rows of
    all.
    """
    images, texts, scale = model(batch.images, batch.tokens, batch.mask)
    return Loss(contrastive(images.float(), texts.float(), scale, batch.numbers), len(images))


def contrastive(images: Tensor, texts: Tensor, scale: Tensor, numbers: Tensor) -> Tensor:
    """The sum over pairs of the cross-entropies of both directions, halved. `numbers` [B, 2] are
    the image and the text of each pair: where one of them is the same, another pair is not wrong,
    and is left out of the comparison.
    """
    vectors, all_numbers, own = gathered(torch.cat((images, texts), -1), numbers)
    all_images, all_texts = vectors.chunk(2, -1)
    same = (numbers[:, None] == all_numbers).any(-1)
    same[torch.arange(len(own), device=own.device), own] = False
    to_texts = (scale * images @ all_texts.T).masked_fill(same, -torch.inf)
    to_images = (scale * texts @ all_images.T).masked_fill(same, -torch.inf)
    return (
        F.cross_entropy(to_texts, own, reduction="sum")
        + F.cross_entropy(to_images, own, reduction="sum")
    ) / 2


def word_neighbours(model: nn.Module, batch: WordBatch, negatives: float = 5.0) -> Loss:
    """How well a model can tell words from random ones where they are predicted: negative sampling
    (Mikolov et al. 2013, §2.2). The loss is the mean over predictions, each of which counts one
    neighbour and `negatives` random words; it stands for all words that the batch was made of.
    """
    found = model(batch.words, batch.near, batch.negatives)
    near = (F.softplus(-found.near) * found.near_weights).sum()
    far = (F.softplus(found.far) * found.far_weights).sum() * (negatives / found.far.size(-1))
    predictions = found.near_weights.sum().clamp(min=1)
    return Loss((near + far) / predictions * batch.size, batch.size)


class ForecastingModel(Protocol):
    """A model that says what values may be: their parameters [B, T, D], and the values [B, T] with
    NaN where one is missing.
    """

    config: Any

    def predicted(self, batch: SeriesBatch) -> tuple[Tensor, Tensor]: ...


def forecast(model: ForecastingModel, batch: SeriesBatch) -> Loss:
    """What the values that are not missing cost, as a mean over each window."""
    parameters, values = model.predicted(batch)
    there = ~values.isnan()
    near = values.nan_to_num(0.0).clamp(-FURTHEST, FURTHEST)
    losses = DISTRIBUTIONS[model.config.head].loss(parameters.float(), near) * there
    return Loss((losses.sum(1) / there.sum(1).clamp(min=1)).sum(), len(values))
