"""The flows of recurrent models: states that are passed on, gates, and attention over states."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from regard.inspect.flow.ends import dense_box, embedding_box, prediction_box, root
from regard.inspect.flow.parts import At, Box, Cell, Flow, Labels, Stack, Stage, product
from regard.inspect.flow.recording import Recording, recorded
from regard.inspect.flow.states import attention_box
from regard.inspect.flow.steps import given, linear
from regard.layers.recurrent import LayerState, RecurrentLayer

Names = Callable[[Sequence[int]], list[str]]
Sides = dict[str, list[str]]
CELLS = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM"}


@dataclass(frozen=True)
class Read:
    """A layer's reading of one sequence, in the order of the sequence. T steps."""

    layer: RecurrentLayer
    x: Tensor  # [T, d_input]
    from_input: Tensor  # [T, gates * d]: U x + b
    before: LayerState  # each [T, d], the state before each step
    after: LayerState
    backward: bool = False


@torch.no_grad()
def read_of(recording: Recording, layer: RecurrentLayer, x: Tensor, backward: bool = False) -> Read:
    """What a layer did: its own steps if it was asked step by step. The fused kernel tells its
    outputs only, so each step is made again from the state before it; `test_flow` compares them.
    """
    if layer in recording.steps:
        steps = recording.steps[layer]
        from_input = torch.cat([each.from_input[:1] for each in steps])
        parts = range(len(steps[0].before))
        before = tuple(torch.cat([each.before[at][:1] for each in steps]) for at in parts)
        after = tuple(torch.cat([each.after[at][:1] for each in steps]) for at in parts)
        return Read(layer, x, from_input, before, after)
    call = recording.last(layer)
    state = call.given.get("state") or layer.zeros(call.given["x"])
    from_input = layer.project(call.given["x"][:1])[0]
    before_each: list[LayerState] = []
    after_each: list[LayerState] = []
    state = tuple(part[:1] for part in state)
    for each in from_input:
        before_each.append(state)
        state = layer.advance(each[None], state)
        after_each.append(state)
    befores = tuple(torch.cat(parts) for parts in zip(*before_each, strict=True))
    afters = tuple(torch.cat(parts) for parts in zip(*after_each, strict=True))
    afters = (call.output[0][0], *afters[1:])
    if backward:
        from_input = from_input.flip(0)
        befores = tuple(part.flip(0) for part in befores)
        afters = tuple(part.flip(0) for part in afters)
    return Read(layer, x, from_input, befores, afters, backward)


def layer_box(reads: list[Read], name: str, title: str, side: str, number: int) -> Box:
    """A layer in one direction, or in two whose states stand side by side."""
    output = torch.cat([each.after[0] for each in reads], dim=-1)
    x = reads[0].x

    def stages(at: At) -> list[Stage]:
        return layer_stages(reads[max(0, min(at.head, len(reads) - 1))], side)

    kind = CELLS[reads[0].layer.cell]
    shape = f"{product(*x.shape)} → {product(*output.shape)}"
    if len(reads) == 2:
        half = product(len(x), reads[0].layer.d_state)
        shape = f"{product(*x.shape)} → 2 directions × {half} → {product(*output.shape)}"
    return Box(
        name,
        f"{title} {kind}",
        shape,
        side,
        output,
        stages,
        layer=number,
        heads=len(reads) if len(reads) > 1 else 0,
        stream=None,
    )


def layer_stages(read: Read, side: str) -> list[Stage]:
    layer = read.layer
    later = "the token after it" if read.backward else "the token before it"
    from_state = torch.nn.functional.linear(read.before[0], layer.state_weight, layer.state_bias)
    stages = [
        given("x", "What each step reads.", read.x, side),
        given("h before", f"The state that comes from {later}.", read.before[0], side),
        linear(
            "U x + b",
            "What the input says to each gate, one block of columns after the other.",
            *(read.x, layer.input_weight, layer.input_bias, read.from_input, side),
        ),
        linear(
            "V h + b",
            "What the state before says to each gate.",
            *(read.before[0], layer.state_weight, layer.state_bias, from_state, side),
        ),
    ]
    return [*stages, *gate_stages(read, from_state, side)]


def gate_stages(read: Read, from_state: Tensor, side: str) -> list[Stage]:
    gates: dict[str, tuple[str, Tensor, str]] = {}
    if read.layer.cell == "gru":
        input_r, input_z, input_n = read.from_input.chunk(3, dim=-1)
        state_r, state_z, state_n = from_state.chunk(3, dim=-1)
        r, z = (input_r + state_r).sigmoid(), (input_z + state_z).sigmoid()
        n = (input_n + r * state_n).tanh()
        gates = {
            "r": ("σ(U x + V h)", r, "The reset gate: where it is 0, the candidate forgets."),
            "z": ("σ(U x + V h)", z, "The update gate: where it is 1, the old state is kept."),
            "n": ("tanh(U x + r · V h)", n, "The candidate for the new state."),
        }
        return [*(gate(*each, side) for each in gates.items()), gru_state(read, z, n, side)]
    if read.layer.cell == "lstm":
        i, f, g, o = (read.from_input + from_state).chunk(4, dim=-1)
        gates = {
            "i": ("σ(U x + V h)", i.sigmoid(), "The input gate: how much of the new is let in."),
            "f": ("σ(U x + V h)", f.sigmoid(), "The forget gate: where it is 1, c is kept."),
            "g": ("tanh(U x + V h)", g.tanh(), "The candidate for the memory cell."),
            "o": ("σ(U x + V h)", o.sigmoid(), "The output gate: how much of c is shown."),
        }
        values = [each[1] for each in gates.values()]
        return [*(gate(*each, side) for each in gates.items()), *lstm_state(read, values, side)]
    total = read.from_input + from_state
    function = "tanh" if read.layer.nonlinearity is torch.tanh else "max(0, ·)"

    def cell(row: int, column: int) -> Cell:
        parts = (("U x + b", read.from_input), ("V h + b", from_state), ("Σ", total))
        steps = [(name, float(each[row, column])) for name, each in parts]
        return Cell(steps=(*steps, (function, float(read.after[0][row, column]))))

    return [Stage(f"h = {function}(U x + V h)", "The new state.", read.after[0], cell, side)]


def gate(name: str, found: tuple[str, Tensor, str], side: Labels) -> Stage:
    formula, values, says = found

    def cell(row: int, column: int) -> Cell:
        return Cell(steps=((formula, float(values[row, column])),))

    return Stage(f"{name} = {formula}", says, values, cell, side)


def gru_state(read: Read, z: Tensor, n: Tensor, side: str) -> Stage:
    def cell(row: int, column: int) -> Cell:
        own = {
            "z": float(z[row, column]),
            "n": float(n[row, column]),
            "h before": float(read.before[0][row, column]),
        }
        total = (1 - own["z"]) * own["n"] + own["z"] * own["h before"]
        return Cell(steps=(*own.items(), ("(1 − z) n + z h", total)))

    says = "The new state: between the candidate and the old state, number by number."
    return Stage("h = (1 − z) n + z h", says, read.after[0], cell, side)


def lstm_state(read: Read, gates: list[Tensor], side: str) -> list[Stage]:
    i, f, g, o = gates

    def memory(row: int, column: int) -> Cell:
        own = {
            "f": float(f[row, column]),
            "c before": float(read.before[1][row, column]),
            "i": float(i[row, column]),
            "g": float(g[row, column]),
        }
        total = own["f"] * own["c before"] + own["i"] * own["g"]
        return Cell(steps=(*own.items(), ("f c + i g", total)))

    def shown(row: int, column: int) -> Cell:
        c, gate_of = float(read.after[1][row, column]), float(o[row, column])
        tanh = float(read.after[1][row, column].double().tanh())
        return Cell(
            steps=(("c", c), ("tanh c", tanh), ("o", gate_of), ("o · tanh c", gate_of * tanh))
        )

    kept = "The memory cell, which is only scaled and added to."
    return [
        Stage("c = f c + i g", kept, read.after[1], memory, side),
        Stage("h = o · tanh c", "The new state.", read.after[0], shown, side),
    ]


def encoder_boxes(recording: Recording, encoder: Any, x: Tensor, side: str, name: str) -> list[Box]:
    boxes = []
    for number, directions in enumerate(encoder.layers):
        reads = [
            read_of(recording, each, x, backward=at == 1) for at, each in enumerate(directions)
        ]
        title = "Bidirectional" if len(reads) == 2 else "Recurrent"
        boxes.append(layer_box(reads, f"{name}.{number}", title, side, number))
        x = boxes[-1].output
    return boxes


def stack_boxes(
    recording: Recording, stack: Any, x: Tensor, side: str, name: str, first: int = 0
) -> list[Box]:
    boxes = []
    for number, layer in list(enumerate(stack.layers))[first:]:
        read = read_of(recording, layer, x)
        boxes.append(layer_box([read], f"{name}.{number}", "Recurrent", side, number))
        x = boxes[-1].output
    return boxes


def reader_boxes(
    recording: Recording, reader: Any, tokens: Tensor, added: dict[str, Tensor] | None = None
) -> list[Box]:
    """From the tokens [1, T], and what is added to their embeddings, to the states of the last
    layer.
    """
    factor = root(reader.config.d_model)
    first = embedding_box("embedding", tokens[0], reader.embedding, "text", factor, added)
    layers = encoder_boxes(recording, reader.encoder, first.output, "text", "encoder")
    return [replace(first, stream=None), *layers]


def writer_flow(model: Any, tokens: Tensor, labels: Sides, names: Names) -> Flow:
    """A recurrent language model."""
    recording = recorded(model, lambda: model(tokens))
    factor = root(model.config.d_model)
    first = embedding_box("embedding", tokens[0], model.embedding, "text", factor)
    boxes = [first, *stack_boxes(recording, model.decoder, first.output, "text", "decoder")]
    boxes = [replace(each, stream=each.output) for each in boxes]
    boxes.append(prediction_box(boxes[-1].output, model.output, names, "text"))
    return Flow([Stack("decoder", "Decoder", "text", boxes)], labels, model.output, names)


def pair_flow(model: Any, batch: Any, labels: Sides, names: Names) -> Flow:
    """A recurrent encoder-decoder, with or without attention."""
    recording = recorded(model, lambda: model(batch.source, batch.source_mask, batch.target))
    factor = root(model.config.d_model)
    source = embedding_box(
        "source_embedding", batch.source[0], model.source_embedding, "source", factor
    )
    encoder = [
        replace(source, stream=None),
        *encoder_boxes(recording, model.encoder, source.output, "source", "encoder"),
    ]
    last = recording.last(model.encoder).output[1][0]
    labels = {**labels, "last": ["last state"]}
    bridge = dense_box("bridge", "Bridge", last[None], model.bridge, "last", ("tanh", torch.tanh))
    target = embedding_box(
        "target_embedding", batch.target[0], model.target_embedding, "target", factor
    )
    decoder = [replace(target, stream=None), bridge]
    decoder += decoder_boxes(recording, model, target.output, encoder[-1].output, last)
    features = decoder[-1].output
    decoder.append(prediction_box(features, model.output, names, "target"))
    stacks = [
        Stack("encoder", "Encoder", "source", encoder),
        Stack("decoder", "Decoder", "target", decoder),
    ]
    return Flow(stacks, labels, None, names)


def decoder_boxes(
    recording: Recording, model: Any, y: Tensor, states: Tensor, last: Tensor
) -> list[Box]:
    """Additive attention comes before a step, dot products after it."""
    looked = attention_box(recording, model.attention, "attention", states, last, len(y))
    fed = model.config.input_feeding
    if model.config.attention == "dot":
        x = y
        if fed:
            x = torch.cat((y, fed_features(recording, model, y)), dim=-1)
        layers = stack_boxes(recording, model.decoder, x, "target", "decoder")
        before, state = [*layers, looked], layers[-1].output
    else:
        x = torch.cat((y, looked.output), dim=-1)
        layers = stack_boxes(recording, model.decoder, x, "target", "decoder")
        before, state = [looked, *layers], layers[-1].output
    joined = torch.cat((y, state, looked.output), dim=-1)
    readout = dense_box("readout", "Readout", joined, model.readout, "target", ("tanh", torch.tanh))
    return [*before, readout]


def fed_features(recording: Recording, model: Any, y: Tensor) -> Tensor:
    """What each step reads of the step before: its features, zeros at first."""
    made = torch.cat([call.output for call in recording.calls[model.readout]])[:-1].tanh()
    return torch.cat((torch.zeros_like(y[:1]), made))
