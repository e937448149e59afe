"""The boxes of Transformer blocks: attention, feed-forward, and what is added and normalised."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.inspect.flow.attention import AttentionStages, shape_of
from regard.inspect.flow.parts import At, Box, Cell, Stage, product
from regard.inspect.flow.recording import Recording
from regard.inspect.flow.steps import added, applied, given, linear, normalised
from regard.layers.attention import MultiHeadAttention
from regard.layers.transformer import DecoderBlock, EncoderBlock, FeedForward, Residual


@dataclass(frozen=True)
class Blocks:
    """The blocks of one stack, and where they stand."""

    name: str  # "encoder", as its module is called
    side: str
    causal: bool = False
    part: str = ""  # of its attention, if that differs from the name
    over: str = ""  # the side that cross-attention looks at
    memory: Tensor | None = None  # [K, d]


def block_boxes(
    recording: Recording, stack: Blocks, layer: int, block: EncoderBlock | DecoderBlock
) -> list[Box]:
    """Two boxes for each sub-layer of a block: what it computes, and its way into the stream."""
    name, side, part = f"{stack.name}.{layer}", stack.side, stack.part or stack.name
    x = recording.given(block, "x")
    title = "Masked self-attention" if stack.causal else "Self-attention"
    own = attention_box(
        recording, block.self_attention, f"{name}.self_attention", title, (side, side), part, layer
    )
    found = sub_layer(recording, block.self_attention_residual, own, x)
    if isinstance(block, DecoderBlock) and stack.memory is not None:
        cross = attention_box(
            recording,
            block.cross_attention,
            f"{name}.cross_attention",
            "Cross-attention",
            (side, stack.over),
            "cross",
            layer,
            stack.memory,
        )
        found += sub_layer(recording, block.cross_attention_residual, cross, found[-1].output)
    forward = feed_forward_box(recording, block.feed_forward, f"{name}.feed_forward", side, layer)
    found += sub_layer(recording, block.feed_forward_residual, forward, found[-1].output)
    last = found.pop()
    # What a lens reads is the output of the whole block.
    return [*found, replace(last, stream=last.output)]


def attention_box(
    recording: Recording,
    attention: MultiHeadAttention,
    name: str,
    title: str,
    sides: tuple[str, str],
    part: str,
    layer: int,
    memory: Tensor | None = None,
) -> Box:
    stages = AttentionStages(attention, recording, sides, memory)
    return Box(
        name=name,
        title=title,
        shape=shape_of(attention, recording),
        side=sides[0],
        output=stages.output,
        stages=stages,
        layer=layer,
        heads=attention.num_heads,
        part=part,
        reads="" if memory is None else sides[1],
    )


def sub_layer(recording: Recording, residual: Residual, box: Box, x: Tensor) -> list[Box]:
    """A sub-layer's box and the one that adds it to the stream x [R, d]. A norm that comes before
    the sub-layer is its first stage.
    """
    norm, side = residual.normalise, box.side
    stream = x + box.output

    def sum_stage() -> Stage:
        says = "What the box found is added to what went into it: the way past every layer."
        return added("x + update", says, {"x": x, "update": box.output}, stream, side)

    output = stream if residual.pre else recording.output(norm)
    if residual.pre:
        inner, before = box.stages, normalised(norm, x, recording.output(norm), side)
        whole = given("x", "The residual stream.", x, side)
        box = replace(box, stages=lambda at: [whole, before, *inner(at)[1:]])

    def stages(at: At) -> list[Stage]:
        first = sum_stage()
        return [first] if residual.pre else [first, normalised(norm, stream, output, side)]

    adds = Box(
        name=f"{box.name}_residual",
        title="Add" if residual.pre else "Add & norm",
        shape=product(*x.shape),
        side=side,
        output=output,
        stages=stages,
        layer=box.layer,
        adds=True,
    )
    return [box, adds]


def feed_forward_box(
    recording: Recording, forward: FeedForward, name: str, side: str, layer: int
) -> Box:
    x, output = recording.given(forward, "x"), recording.output(forward)
    hidden = recording.output(forward.inner)
    active = recording.given(forward.outer, "x")
    sizes = (product(*x.shape), product(*hidden.shape), product(*output.shape))

    def stages(at: At) -> list[Stage]:
        inner, outer = forward.inner, forward.outer
        wider = f"Every token alone: {x.size(1)} numbers become {hidden.size(1)}."
        back = f"And back to {output.size(1)} numbers."
        return [
            given("x", "What comes in: a row for each token.", x, side),
            linear("x · W₁ + b", wider, x, inner.weight, inner.bias, hidden, side),
            activation_stage(forward, hidden, active, side),
            linear("· W₂ + b", back, active, outer.weight, outer.bias, output, side),
        ]

    return Box(name, "Feed-forward", " → ".join(sizes), side, output, stages, layer)


def activation_stage(forward: FeedForward, x: Tensor, values: Tensor, side: str) -> Stage:
    name = forward.activation
    says = {
        "relu": "What is negative becomes 0: without this, both products would collapse into one.",
        "swiglu": "One half decides how much of the other half passes.",
    }.get(name, "A smooth step: what is far below 0 vanishes, what is far above passes.")
    if name == "swiglu":
        gates, passed = x.chunk(2, dim=-1)

        def cell(row: int, column: int) -> Cell:
            gate = torch.nn.functional.silu(gates[row, column])
            names = (("gate", gates[row, column]), ("silu", gate), ("value", passed[row, column]))
            steps = tuple((each, float(value)) for each, value in names)
            return Cell(steps=(*steps, ("=", float(values[row, column]))))

        return Stage("SwiGLU", says, values, cell, side)
    label = {"relu": "max(0, x)"}.get(name, f"{name}(x)")
    return applied(label, says, x, values, label, side)
