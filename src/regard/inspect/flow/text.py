"""The flows of Transformers that read or write text."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.configs.bert import BertConfig
from regard.inspect.flow.blocks import Blocks, block_boxes
from regard.inspect.flow.ends import dense_box, embedding_box, norm_box, prediction_box, root
from regard.inspect.flow.parts import At, Box, Cell, Flow, Stack, Stage, product
from regard.inspect.flow.recording import Recording, recorded
from regard.inspect.flow.recurrent import reader_boxes
from regard.layers.transformer import activate

Names = Callable[[Sequence[int]], list[str]]
Sides = dict[str, list[str]]


def positions_of(model: Any, length: int, like: Tensor) -> dict[str, Tensor]:
    """What is added to tokens for their positions; rotary positions turn queries and keys."""
    if model.positions is None:
        return {}
    return {"position": model.positions(0, length, like).detach()}


def stack_boxes(recording: Recording, blocks: Sequence[Any], stack: Blocks) -> list[Box]:
    return [
        box
        for layer, block in enumerate(blocks)
        for box in block_boxes(recording, stack, layer, block)
    ]


def pair_flow(model: Any, batch: Any, labels: Sides, names: Names) -> Flow:
    """An encoder and a decoder, for a source and an output that are known."""
    recording = recorded(model, lambda: model(batch.source, batch.source_mask, batch.target))
    factor = root(model.config.d_model)
    encoder = [
        embedding_box(
            "source_embedding",
            batch.source[0],
            model.source_embedding,
            "source",
            factor,
            positions_of(model, batch.source.size(1), model.output.weight),
        ),
        *stack_boxes(recording, model.encoder, Blocks("encoder", "source")),
    ]
    if model.config.norm == "pre":
        encoder.append(norm_box(recording, model.encoder_norm, "encoder_norm", "Norm", "source"))
    memory = encoder[-1].output
    cross = Blocks("decoder", "target", causal=True, over="source", memory=memory)
    decoder = [
        embedding_box(
            "target_embedding",
            batch.target[0],
            model.target_embedding,
            "target",
            factor,
            positions_of(model, batch.target.size(1), model.output.weight),
        ),
        *stack_boxes(recording, model.decoder, cross),
    ]
    if model.config.norm == "pre":
        decoder.append(norm_box(recording, model.decoder_norm, "decoder_norm", "Norm", "target"))
    decoder.append(prediction_box(decoder[-1].output, model.output, names, "target"))
    stacks = [
        Stack("encoder", "Encoder", "source", [without_stream(each) for each in encoder]),
        Stack("decoder", "Decoder", "target", decoder),
    ]
    return Flow(stacks, labels, lambda x: model.output(model.decoder_norm(x)), names)


def without_stream(box: Box) -> Box:
    """An encoder predicts nothing, so no lens looks at it."""
    return replace(box, stream=None)


def writer_flow(model: Any, tokens: Tensor, labels: Sides, names: Names) -> Flow:
    """A GPT that reads tokens [1, T] and predicts what follows each of them."""
    recording = recorded(model, lambda: model(tokens))
    config = model.config
    factor = root(config.d_model) if config.positions == "sinusoidal" else 1.0
    more = positions_of(model, tokens.size(1), model.output.weight)
    boxes = [
        embedding_box("embedding", tokens[0], model.embedding, "text", factor, more),
        *stack_boxes(recording, model.decoder, Blocks("decoder", "text", causal=True)),
        norm_box(recording, model.norm, "norm", "Norm", "text"),
    ]
    boxes.append(prediction_box(boxes[-1].output, model.output, names, "text"))
    return Flow(
        [Stack("decoder", "Decoder", "text", boxes)],
        labels,
        lambda x: model.output(model.norm(x)),
        names,
    )


def bert_boxes(
    recording: Recording, bert: Any, tokens: Tensor, segments: Tensor | None
) -> list[Box]:
    """From the tokens [1, T] to the last layer."""
    length, width = tokens.size(1), bert.config.d_model
    kind = (
        bert.segments.weight[0].expand(length, width)
        if segments is None
        else bert.segments(segments)[0]
    )
    more = {**positions_of(bert, length, bert.embedding.weight), "segment": kind.detach()}
    first = embedding_box("embedding", tokens[0], bert.embedding, "text", 1.0, more)
    return [
        without_stream(first),
        with_stream(norm_box(recording, bert.embedding_norm, "embedding_norm", "Norm", "text")),
        *stack_boxes(recording, bert.encoder, Blocks("encoder", "text")),
    ]


def with_stream(box: Box) -> Box:
    return replace(box, stream=box.output)


def masked_flow(
    model: Any, tokens: Tensor, mask: Tensor, segments: Tensor | None, labels: Sides, names: Names
) -> Flow:
    """A BERT that predicts the token at each place."""
    recording = recorded(model, lambda: model(tokens, mask, segments))
    boxes = bert_boxes(recording, model, tokens, segments)
    name = model.config.activation

    def active(x: Tensor) -> Tensor:
        return activate(x, name)

    boxes += [
        dense_box("head", "Head", boxes[-1].output, model.head, "text", (name, active)),
        norm_box(recording, model.head_norm, "head_norm", "Norm", "text"),
    ]
    boxes.append(prediction_box(boxes[-1].output, model.output, names, "text"))
    return Flow(
        [Stack("encoder", "Encoder", "text", boxes)],
        labels,
        lambda x: model.output(model.predictions(x)),
        names,
    )


def labeller_flow(
    model: Any, given: tuple[Tensor, Tensor, Tensor], labels: Sides, names: Names, heat: float
) -> Flow:
    """A classifier or tagger: tokens, mask and units [1, T] → labels of units. `heat` is the
    temperature of its calibration.
    """
    tokens, mask, units = given
    recording = recorded(model, lambda: model(tokens, mask, units))
    if isinstance(model.reader.config, BertConfig):
        boxes = bert_boxes(recording, model.reader, tokens, None)
    else:
        read = model.letters
        added = {"word’s letters": read(tokens, units)[0].detach()} if read is not None else None
        boxes = reader_boxes(recording, model.reader, tokens, added)
    pool = pool_box(boxes[-1].output, units[0], model.pooling, "unit")
    boxes += [pool, prediction_box(pool.output, model.output, names, "unit", heat)]
    return Flow([Stack("encoder", "Reader", "text", boxes)], labels, None, names)


def pool_box(states: Tensor, units: Tensor, pooling: str, side: str) -> Box:
    """One vector for each unit, a text or a word: the mean of its tokens, or the first of them."""
    output = pooled(states, units, pooling)
    says = "the mean of its tokens" if pooling == "mean" else "the first of its tokens"

    def cell(row: int, column: int) -> Cell:
        own = states[units == row]
        own = own if pooling == "mean" else own[:1]
        found = own[:, column].double()
        if not len(found):
            return Cell(steps=(("no tokens", 0.0),))
        steps = (("Σ", float(found.sum())), (f"÷ {len(found)}", float(found.mean())))
        return Cell(("x",), (found.tolist(),), "", steps)

    def stages(at: At) -> list[Stage]:
        return [Stage(pooling, f"One row for each label: {says}.", output, cell, side)]

    shape = f"{product(*states.shape)} → {product(*output.shape)}"
    return Box("pooled", f"Pool: {pooling}", shape, side, output, stages)


def pooled(states: Tensor, units: Tensor, pooling: str) -> Tensor:
    count = int(units.max()) + 1
    rows = []
    for unit in range(count):
        own = states[units == unit]
        own = own if pooling == "mean" else own[:1]
        rows.append(own.mean(0) if len(own) else states.new_zeros(states.size(1)))
    return torch.stack(rows)
