"""Recurrent layers: the equations agree with PyTorch's kernels, and padding is never read."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from regard.layers.recurrent import (
    RecurrentEncoder,
    RecurrentLayer,
    RecurrentStack,
    rearrange,
    reversal,
)

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
CELLS = [("rnn", "tanh"), ("rnn", "relu"), ("gru", "tanh"), ("lstm", "tanh")]
each_cell = pytest.mark.parametrize(("cell", "nonlinearity"), CELLS)
both_precisions = pytest.mark.parametrize("dtype", list(TOLERANCE))
Randomise = Callable[[nn.Module], nn.Module]


def assert_same(ours: Tensor, expected: Tensor) -> None:
    assert_close(ours, expected, rtol=0, atol=TOLERANCE[expected.dtype])


def draw(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64).to(
        dtype
    )


def reference(cell: str, nonlinearity: str, *sizes: int, **choices: Any) -> nn.Module:
    """PyTorch's own module, with several layers or directions in one."""
    if cell == "rnn":
        return nn.RNN(*sizes, nonlinearity=nonlinearity, batch_first=True, **choices)
    return {"gru": nn.GRU, "lstm": nn.LSTM}[cell](*sizes, batch_first=True, **choices)


def copy_layer(ours: RecurrentLayer, theirs: nn.Module, suffix: str) -> None:
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(ours.kernel, f"{name}_l0").copy_(getattr(theirs, f"{name}_{suffix}"))


@torch.no_grad()
def test_a_step_computed_by_hand() -> None:
    layer = RecurrentLayer("rnn", 2, 3, "relu")
    layer.input_weight.copy_(torch.tensor([[1.0, 0], [0, 1], [-1, 0]]))  # U
    layer.state_weight.copy_(torch.tensor([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]]))  # V
    x, h = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0, 0.0]])
    assert torch.equal(layer.project(x), torch.tensor([[1.0, 0.0, -1.0]]))
    assert torch.equal(h @ layer.state_weight.T, torch.tensor([[0.0, 0.0, 1.0]]))
    (after,) = layer.step(x, (h,))
    assert torch.equal(after, torch.tensor([[1.0, 0.0, 0.0]]))
    assert float(after[0] @ torch.tensor([1.0, 0.0, -1.0])) == 1  # o = W h


@both_precisions
@each_cell
@torch.no_grad()
def test_steps_are_the_kernel_of_torch(
    cell: Any, nonlinearity: Any, dtype: torch.dtype, random_weights: Randomise
) -> None:
    layers, width, inputs = 3, 6, 5
    ours = RecurrentStack(cell, inputs, width, layers, nonlinearity=nonlinearity).to(dtype)
    theirs = random_weights(reference(cell, nonlinearity, inputs, width, layers).to(dtype))
    for number, layer in enumerate(ours.layers):
        copy_layer(layer, theirs, f"l{number}")
    x = draw(4, 11, inputs, dtype=dtype)
    expected, last = theirs(x)
    whole, states = ours(x)
    assert_same(whole, expected)
    stepped = [layer.zeros(x) for layer in ours.layers]
    for place in range(11):
        y, stepped = ours.step(x[:, place], stepped)
        assert_same(y, expected[:, place])
    parts = last if cell == "lstm" else (last,)
    for number in range(layers):
        for part, ours_whole, ours_stepped in zip(
            parts, states[number], stepped[number], strict=True
        ):
            assert_same(ours_whole, part[number])
            assert_same(ours_stepped, part[number])


@each_cell
@torch.no_grad()
def test_a_sequence_may_be_read_in_parts(
    cell: Any, nonlinearity: Any, random_weights: Randomise
) -> None:
    stack = random_weights(RecurrentStack(cell, 5, 6, 2, nonlinearity=nonlinearity).double())
    x = draw(3, 10, 5)
    whole, last = stack(x)
    first, states = stack(x[:, :4])
    second, states = stack(x[:, 4:], states)
    assert_same(torch.cat((first, second), dim=1), whole)
    assert_same(states[1][-1], last[1][-1])
    # The layers above the first may read its output, wherever it was computed.
    below, _ = stack.layers[0](x)
    above, _ = stack(below, [layer.zeros(x) for layer in stack.layers], below=1)
    assert_same(above, whole)


@both_precisions
@each_cell
@torch.no_grad()
def test_both_directions_are_torchs_packed_ones(
    cell: Any, nonlinearity: Any, dtype: torch.dtype, random_weights: Randomise
) -> None:
    ours = RecurrentEncoder(cell, 8, 2, bidirectional=True, nonlinearity=nonlinearity).to(dtype)
    theirs = random_weights(reference(cell, nonlinearity, 8, 4, 2, bidirectional=True).to(dtype))
    for number, (left, right) in enumerate(ours.layers):
        copy_layer(left, theirs, f"l{number}")
        copy_layer(right, theirs, f"l{number}_reverse")
    lengths = torch.tensor([9, 1, 6, 9])
    mask = torch.arange(9) < lengths[:, None]
    x = draw(4, 9, 8, dtype=dtype)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    y, last = theirs(packed)
    expected, _ = pad_packed_sequence(y, batch_first=True)
    h = last[0] if cell == "lstm" else last
    outputs, summary = ours(x, mask)
    assert_same(outputs[mask], expected[mask])
    assert_same(summary, torch.cat((h[2], h[3]), dim=-1))


@pytest.mark.parametrize("bidirectional", [True, False])
@torch.no_grad()
def test_what_stands_under_padding_is_never_read(
    bidirectional: bool, random_weights: Randomise
) -> None:
    encoder = random_weights(RecurrentEncoder("gru", 8, 2, bidirectional).double())
    mask = torch.arange(9) < torch.tensor([9, 2, 6])[:, None]
    x = draw(3, 9, 8)
    outputs, summary = encoder(x, mask)
    other, other_summary = encoder(x.masked_fill(~mask[:, :, None], 77.0), mask)
    assert torch.equal(outputs[mask], other[mask])
    assert torch.equal(summary, other_summary)
    alone, alone_summary = encoder(x[1:2, :2], mask[1:2, :2])
    assert_same(alone, outputs[1:2, :2])
    assert_same(alone_summary, summary[1:2])


def test_a_row_is_turned_round_within_its_length() -> None:
    mask = torch.arange(5) < torch.tensor([5, 2, 1])[:, None]
    places = reversal(mask)
    assert places.tolist() == [[4, 3, 2, 1, 0], [1, 0, 2, 3, 4], [0, 1, 2, 3, 4]]
    x = draw(3, 5, 4).requires_grad_()
    turned = rearrange(x, places)
    assert torch.equal(turned[1], x[1][[1, 0, 2, 3, 4]])
    assert torch.equal(rearrange(turned, places), x)
    assert torch.autograd.gradcheck(lambda given: rearrange(given, places), (x,))


@each_cell
def test_gradients_of_steps(
    cell: Any, nonlinearity: Any, random_weights: Randomise, check_gradients: Any
) -> None:
    class Unrolled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stack = RecurrentStack(cell, 3, 4, 2, nonlinearity=nonlinearity)

        def forward(self, x: Tensor) -> Tensor:
            states = [layer.zeros(x) for layer in self.stack.layers]
            made = []
            for each in x.unbind(1):
                y, states = self.stack.step(each, states)
                made.append(y)
            return torch.stack(made)

    check_gradients(random_weights(Unrolled().double()), draw(2, 3, 3))


@torch.no_grad()
def test_a_new_layer_keeps_the_length_of_a_state_and_an_lstm_remembers() -> None:
    torch.manual_seed(0)
    for cell, gates in (("rnn", 1), ("gru", 3), ("lstm", 4)):
        layer = RecurrentLayer(cell, 5, 7)  # type: ignore[arg-type]
        for part in layer.state_weight.chunk(gates):
            assert_close(part @ part.T, torch.eye(7), rtol=0, atol=1e-5)
    biases = layer.input_bias + layer.state_bias
    assert biases.view(4, 7).mean(1).tolist() == [0, 1, 0, 0]


@torch.no_grad()
def test_dropout_is_between_layers_only() -> None:
    torch.manual_seed(0)
    x = draw(2, 4, 6, dtype=torch.float32)
    one = RecurrentStack("gru", 6, 6, 1, dropout=0.9)
    assert torch.equal(one(x)[0], one.eval()(x)[0])
    two = RecurrentStack("gru", 6, 6, 2, dropout=0.9)
    assert not torch.equal(two.train()(x)[0], two.eval()(x)[0])


def test_an_odd_width_has_no_halves() -> None:
    with pytest.raises(ValueError, match="7 is odd"):
        RecurrentEncoder("rnn", 7, bidirectional=True)
    RecurrentEncoder("rnn", 7, bidirectional=False)
