"""Recurrent layers: (y, s') = f(x, s), where f is a plain RNN, a GRU or an LSTM.

Each layer uses the same weights in two forms: PyTorch's fused kernel, which reads a whole sequence,
and the equations written out, which make one step. Decoding and inspection need the second.

Shapes: B rows, T steps, d width. A layer's state is (h,), or (h, c) for an LSTM, each [B, d].
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.layers.choices import Cell, Nonlinearity
from regard.layers.dropout import Dropout

LayerState = tuple[Tensor, ...]

KERNELS: dict[Cell, type[nn.RNN | nn.GRU | nn.LSTM]] = {
    "rnn": nn.RNN,
    "gru": nn.GRU,
    "lstm": nn.LSTM,
}


def rnn_step(from_input: Tensor, from_state: Tensor, f: Callable[[Tensor], Tensor]) -> LayerState:
    """h_t = f(U x_t + V h_{t-1} + b), given U x_t + b and V h_{t-1} (Elman 1990)."""
    return (f(from_input + from_state),)


def gru_step(from_input: Tensor, from_state: Tensor, state: LayerState) -> LayerState:
    """Where the gate z is 1, the old state is kept; where r is 0, the candidate n ignores it (Cho
    et al. 2014). As in PyTorch, r acts on V h_{t-1} rather than on h_{t-1}.
    """
    (h,) = state
    input_r, input_z, input_n = from_input.chunk(3, dim=-1)
    state_r, state_z, state_n = from_state.chunk(3, dim=-1)
    r = (input_r + state_r).sigmoid()
    z = (input_z + state_z).sigmoid()
    n = (input_n + r * state_n).tanh()
    return (torch.lerp(n, h, z),)  # (1 − z) n + z h


def lstm_step(from_input: Tensor, from_state: Tensor, state: LayerState) -> LayerState:
    """The cell state c is only scaled by f and added to, so that gradients pass through it
    (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000).
    """
    _, c = state
    i, f, g, o = (from_input + from_state).chunk(4, dim=-1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


class RecurrentLayer(nn.Module):
    """One layer in one direction."""

    def __init__(
        self, cell: Cell, d_input: int, d_state: int, nonlinearity: Nonlinearity = "tanh"
    ) -> None:
        super().__init__()
        self.cell = cell
        self.d_state = d_state
        self.nonlinearity = torch.tanh if nonlinearity == "tanh" else torch.relu
        options = {"nonlinearity": nonlinearity} if cell == "rnn" else {}
        self.kernel = KERNELS[cell](d_input, d_state, batch_first=True, **options)
        self.reset()

    def reset(self) -> None:
        """Initialise each gate's U by Xavier's rule and its V as an orthogonal matrix, which
        neither stretches nor shrinks a state. An LSTM remembers at first: its forget bias is 1
        (Jozefowicz et al. 2015).
        """
        gates = self.state_weight.size(0) // self.d_state
        for part in self.input_weight.chunk(gates):
            nn.init.xavier_uniform_(part)
        for part in self.state_weight.chunk(gates):
            nn.init.orthogonal_(part)
        nn.init.zeros_(self.input_bias)
        nn.init.zeros_(self.state_bias)
        if self.cell == "lstm":
            nn.init.ones_(self.input_bias.chunk(gates)[1])

    @property
    def input_weight(self) -> Tensor:
        """U of all gates, one below the other."""
        return self.kernel.weight_ih_l0  # type: ignore[return-value]

    @property
    def input_bias(self) -> Tensor:
        return self.kernel.bias_ih_l0  # type: ignore[return-value]

    @property
    def state_weight(self) -> Tensor:
        """V of all gates, one below the other."""
        return self.kernel.weight_hh_l0  # type: ignore[return-value]

    @property
    def state_bias(self) -> Tensor:
        return self.kernel.bias_hh_l0  # type: ignore[return-value]

    @property
    def num_parts(self) -> int:
        """How many tensors a state is made of."""
        return 2 if self.cell == "lstm" else 1

    def zeros(self, x: Tensor) -> LayerState:
        """The state of the rows of x before anything has been read."""
        return (x.new_zeros(x.size(0), self.d_state),) * self.num_parts

    def forward(self, x: Tensor, state: LayerState | None = None) -> tuple[Tensor, LayerState]:
        """Read a whole sequence: [B, T, d_input] → [B, T, d], and the state after it."""
        first = tuple(part[None] for part in state or self.zeros(x))
        y, last = self.kernel(x, first if self.cell == "lstm" else first[0])
        return y, tuple(part[0] for part in (last if self.cell == "lstm" else (last,)))

    def project(self, x: Tensor) -> Tensor:
        """U x + b, the part of a step that needs no state."""
        return F.linear(x, self.input_weight, self.input_bias)

    def advance(self, from_input: Tensor, state: LayerState) -> LayerState:
        """The next state, from U x + b and the previous state."""
        from_state = F.linear(state[0], self.state_weight, self.state_bias)
        match self.cell:
            case "rnn":
                return rnn_step(from_input, from_state, self.nonlinearity)
            case "gru":
                return gru_step(from_input, from_state, state)
            case "lstm":
                return lstm_step(from_input, from_state, state)

    def step(self, x: Tensor, state: LayerState) -> LayerState:
        """[B, d_input] and a state → the next state, whose first part is the output."""
        return self.advance(self.project(x), state)


class RecurrentStack(nn.Module):
    """Layers that read from left to right, each the output of the one below. Dropout is applied
    between layers, never between steps (Zaremba et al. 2014). Nothing to the right of a position
    can influence it.
    """

    def __init__(
        self,
        cell: Cell,
        d_input: int,
        d_model: int,
        num_layers: int = 1,
        dropout: float = 0.0,
        nonlinearity: Nonlinearity = "tanh",
    ) -> None:
        super().__init__()
        widths = [d_input] + [d_model] * (num_layers - 1)
        self.layers: Sequence[RecurrentLayer] = nn.ModuleList(  # type: ignore[assignment]
            RecurrentLayer(cell, width, d_model, nonlinearity) for width in widths
        )
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Tensor, states: Sequence[LayerState] | None = None, below: int = 0
    ) -> tuple[Tensor, list[LayerState]]:
        """[B, T, d_input] → [B, T, d_model], and the states after it.

        x is the output of the first `below` layers, and only the layers above them read it.
        """
        given: Sequence[LayerState | None] = states or [None] * len(self.layers)
        last = list(given[:below])
        for number in range(below, len(self.layers)):
            x = x if number == 0 else self.dropout(x)
            x, state = self.layers[number](x, given[number])
            last.append(state)
        return x, last  # type: ignore[return-value]

    def step(self, x: Tensor, states: Sequence[LayerState]) -> tuple[Tensor, list[LayerState]]:
        """[B, d_input] → [B, d_model], one step later."""
        after: list[LayerState] = []
        for layer, state in zip(self.layers, states, strict=True):
            after.append(layer.step(self.dropout(x) if after else x, state))
            x = after[-1][0]
        return x, after


class RecurrentEncoder(nn.Module):
    """Layers that read whole sequences, from the left only, or from both ends with half the width
    for each direction: y_t = [h_t→, h_t←] (Schuster and Paliwal 1997).
    """

    def __init__(
        self,
        cell: Cell,
        d_model: int,
        num_layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
        nonlinearity: Nonlinearity = "tanh",
    ) -> None:
        super().__init__()
        directions = 2 if bidirectional else 1
        if d_model % directions:
            raise ValueError(f"d_model {d_model} is odd, so two directions cannot share it")
        self.d_state = d_model // directions
        self.layers: Sequence[Sequence[RecurrentLayer]] = nn.ModuleList(  # type: ignore[assignment]
            nn.ModuleList(
                RecurrentLayer(cell, d_model, self.d_state, nonlinearity) for _ in range(directions)
            )
            for _ in range(num_layers)
        )
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """[B, T, d_model] → y [B, T, d_model], and the states [B, d_model] after the whole
        sequence.

        Rows end in padding, which `mask` [B, T] marks with False. From the left it comes last and
        changes nothing before it; for the other direction each row is reversed within its length.
        """
        turned = reversal(mask)
        for number, layer in enumerate(self.layers):
            x = x if number == 0 else self.dropout(x)
            read, _ = layer[0](x)
            if len(layer) == 2:
                read_back, _ = layer[1](rearrange(x, turned))
                read = torch.cat((read, rearrange(read_back, turned)), dim=-1)
            x = read
        ends = mask.sum(1) - 1
        last = x[torch.arange(len(x), device=x.device), ends, : self.d_state]
        return x, torch.cat((last, x[:, 0, self.d_state :]), dim=-1)


def reversal(mask: Tensor) -> Tensor:
    """[B, T], True at real positions → [B, T]: where each position goes when its row is reversed
    and its padding stays. Applied twice it changes nothing.
    """
    places = torch.arange(mask.size(1), device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - places, places)


def rearrange(x: Tensor, places: Tensor) -> Tensor:
    """x [B, T, d] with position t of a row taken from places[row, t]. `places` must be its own
    inverse.
    """
    rows = torch.arange(len(x), device=x.device)[:, None] * x.size(1)
    return _Rearrange.apply(x, (places + rows).flatten())  # type: ignore[no-any-return,no-untyped-call]


class _Rearrange(torch.autograd.Function):
    """Indexing whose gradient is the same indexing; the general gradient adds number by number."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        return x.flatten(0, 1).index_select(0, places).view_as(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (places,) = ctx.saved_tensors
        return gradient.flatten(0, 1).index_select(0, places).view_as(gradient), None
