"""A labeller: units of a text are pooled; padding and other texts of the batch change nothing."""

from typing import Literal

import pytest
import torch

from regard.models import BertConfig, HeadConfig, Labeller, ReaderConfig, build
from regard.models.labeller import pooled
from regard.models.recurrent_language_model import (
    RecurrentLanguageModel,
    RecurrentLanguageModelConfig,
)

CONFIGS = [
    BertConfig(num_layers=1, d_model=8, d_ff=16, num_heads=2, max_positions=12, dropout=0.0),
    ReaderConfig(num_layers=2, d_model=8, dropout=0.0),
]


def test_pooling_takes_the_mean_or_the_first_of_each_unit() -> None:
    states = torch.arange(8.0).view(1, 4, 2)
    units = torch.tensor([[-1, 0, 0, 2]])
    assert pooled(states, units, "mean").tolist() == [[[3.0, 4.0], [0.0, 0.0], [6.0, 7.0]]]
    assert pooled(states, units, "first").tolist() == [[[2.0, 3.0], [0.0, 0.0], [6.0, 7.0]]]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_a_row_alone_is_the_row_in_a_batch(
    config: BertConfig | ReaderConfig, pooling: Literal["mean", "first"]
) -> None:
    torch.manual_seed(2)
    model = build(config, 20, 5, HeadConfig(pooling=pooling)).eval()
    assert isinstance(model, Labeller)
    tokens = torch.tensor([[2, 7, 8, 3, 0, 0], [2, 5, 6, 7, 9, 3]])
    mask = torch.tensor([[True] * 4 + [False] * 2, [True] * 6])
    units = torch.tensor([[-1, 0, 0, -1, -1, -1], [-1, 0, 1, 1, 2, -1]])
    both = model(tokens, mask, units)
    alone = model(tokens[:1, :4], mask[:1, :4], units[:1, :4])
    torch.testing.assert_close(both[0, :1], alone[0])
    assert both.shape == (2, 3, 5)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_what_is_carried_continues_the_text(cell: Literal["rnn", "gru", "lstm"]) -> None:
    """Read in two parts, in one, or step by step, a text gives the same logits."""
    torch.manual_seed(3)
    config = RecurrentLanguageModelConfig(cell=cell, num_layers=2, d_model=6, dropout=0.0)
    model = RecurrentLanguageModel(config, 11).eval()
    tokens = torch.randint(0, 11, (2, 7))
    whole = model(tokens)
    first, carried = model.continued(tokens[:, :4], None)
    second, _ = model.continued(tokens[:, 4:], carried)
    torch.testing.assert_close(model.output(torch.cat((first, second), 1)), whole)
    state = model.start(2)
    for place in range(7):
        logits, state = model.step(tokens[:, place], state)
        torch.testing.assert_close(logits, whole[:, place])
