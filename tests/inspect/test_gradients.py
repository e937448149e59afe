"""Gradients through time: what autograd measures is the product of Jacobians."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from regard.data.batch import batch_pairs
from regard.inspect.gradients import GradientFlow, state_gradients
from regard.models.recurrent import Recurrent, RecurrentConfig

END = 3
BATCH = batch_pairs(
    [[5, 9, END], [8, END], [6, END]], [[6, 8, 7, 9, 11, END], [7, END], [5, 6, 7, END]]
)


def build(**choices: Any) -> Recurrent:
    torch.manual_seed(4)
    sizes = {"d_model": 8, "attention": "none", "dropout": 0.5, **choices}
    return Recurrent(RecurrentConfig(**sizes), 15, 15).double().eval()


def flow_of(model: Recurrent) -> GradientFlow:
    flow = GradientFlow()
    for norms in state_gradients(model, BATCH):
        flow.add(norms)
    return flow


def test_a_gradient_is_the_product_of_jacobians() -> None:
    """∂loss_T/∂h_t = Π_j (diag(1 − h_j²) V)ᵀ ∂loss_T/∂h_T for tanh."""
    model = build(cell="rnn")
    state, hidden = model.start(BATCH.source, BATCH.source_mask), []
    for place in range(6):
        logits, state = model.step(BATCH.target[:, place], state)
        hidden.append(state.layers[0][0])
    loss = F.cross_entropy(logits[0], BATCH.labels[0, 5])
    (gradient,) = torch.autograd.grad(loss, hidden[5])
    expected = [float(gradient[0].norm())]
    towards = gradient[0]
    for place in range(5, 0, -1):
        slope = 1 - hidden[place][0].detach().square()
        towards = (slope * towards) @ model.decoder.layers[0].state_weight.detach()
        expected.append(float(towards.norm()))
    *_, norms = state_gradients(model, BATCH)
    assert norms.shape == (6, 1)  # only the first sentence is that long
    assert norms[:, 0].tolist() == pytest.approx(expected)


def test_each_loss_counts_once_for_each_state_it_can_reach() -> None:
    flow = flow_of(build(cell="gru", decoder_layers=2))
    # Sentences of 6, 2 and 4 pieces.
    assert flow.counts == [6 + 2 + 4, 5 + 1 + 3, 4 + 2, 3 + 1, 2, 1]
    assert flow.shares()[0] == 1
    assert len(flow.means()) == 6


@torch.no_grad()
def test_a_contracting_rnn_vanishes_as_fast_as_it_contracts() -> None:
    model = build(cell="rnn")
    model.decoder.layers[0].state_weight.mul_(0.1)
    with torch.enable_grad():
        measured = list(state_gradients(model, BATCH))
    for norms in measured:
        assert bool((norms[1:] <= 0.1 * norms[:-1]).all())


@torch.no_grad()
def test_an_lstm_that_forgets_nothing_loses_no_gradient() -> None:
    model = build(cell="lstm")
    layer = model.decoder.layers[0]
    layer.state_weight.zero_()
    layer.state_bias.view(4, -1)[1] = 40.0  # the forget gate is open
    with torch.enable_grad():
        *_, norms = state_gradients(model, BATCH)
    assert norms[1:, 0].tolist() == pytest.approx([float(norms[1, 0])] * 5)
    assert float(norms[1, 0]) > 0.1 * float(norms[0, 0])


def test_far_states_are_compared_with_their_own_losses() -> None:
    flow = GradientFlow()
    flow.add(torch.tensor([[4.0, 2.0]]))
    flow.add(torch.tensor([[2.0], [1.0]]))
    assert flow.means() == [8 / 3, 1.0]
    assert flow.shares() == [1.0, 0.5]
