"""The loss of a batch covers what there is to predict, however the batch was put together."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from regard.data.batch import Batch, batch_pairs
from regard.models.transformer import Transformer, TransformerConfig
from regard.objectives import translation
from regard.text.tokenizer import PAD

SOURCES = [[5, 9, 12, 3], [8, 3], [11, 4, 6, 7, 3], [13, 3]]
TARGETS = [[6, 6, 3], [14, 9, 4, 10, 8, 3], [3], [7, 12, 3]]


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    config = TransformerConfig(
        encoder_layers=1, decoder_layers=1, d_model=8, d_ff=12, num_heads=2, dropout=0.0
    )
    return Transformer(config, 15, 15).double()


def gradients(model: Transformer, total: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(total, list(model.parameters())))


def test_the_count_is_of_labels_end_included(model: Transformer) -> None:
    assert translation(model, batch_pairs(SOURCES, TARGETS)).count == 3 + 6 + 1 + 3


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_the_cross_entropy_of_the_logits(model: Transformer, smoothing: float) -> None:
    batch = batch_pairs(SOURCES, TARGETS)
    loss = translation(model, batch, smoothing)
    logits = model(batch.source, batch.source_mask, batch.target)
    expected = F.cross_entropy(
        logits.flatten(0, 1),
        batch.labels.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )
    assert_close(loss.total, expected)
    assert_close(gradients(model, loss.total), gradients(model, expected))


def test_padding_counts_for_nothing(model: Transformer) -> None:
    batch = batch_pairs(SOURCES, TARGETS)
    more = (0, 9)
    padded = Batch(
        F.pad(batch.source, more, value=PAD),
        F.pad(batch.source_mask, more, value=False),
        F.pad(batch.target, more, value=PAD),
        F.pad(batch.labels, more, value=PAD),
        F.pad(batch.label_mask, more, value=False),
        batch.tokens,
    )
    before, after = translation(model, batch, 0.1), translation(model, padded, 0.1)
    assert after.count == before.count
    assert_close(after.total, before.total)
    assert_close(gradients(model, after.total), gradients(model, before.total))


@pytest.mark.parametrize("parts", [[[0, 1], [2, 3]], [[3], [1], [0], [2]], [[2, 0, 3], [1]]])
def test_any_split_of_a_batch_adds_up_to_the_same(
    model: Transformer, parts: list[list[int]]
) -> None:
    whole = translation(model, batch_pairs(SOURCES, TARGETS), 0.1)
    losses = [
        translation(model, batch_pairs([SOURCES[i] for i in part], [TARGETS[i] for i in part]), 0.1)
        for part in parts
    ]
    assert sum(loss.count for loss in losses) == whole.count
    total = torch.stack([loss.total for loss in losses]).sum()
    assert_close(total, whole.total, rtol=1e-12, atol=0)
    assert_close(gradients(model, total), gradients(model, whole.total), rtol=0, atol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_model_that_knows_nothing_is_as_unsure_as_its_vocabulary_is_large(
    model: Transformer, smoothing: float
) -> None:
    with torch.no_grad():
        model.output.weight.zero_()
        loss = translation(model, batch_pairs(SOURCES, TARGETS), smoothing)
    assert loss.total.item() / loss.count == pytest.approx(math.log(15))
