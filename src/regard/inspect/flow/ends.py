"""Where a flow begins and ends: the vectors of tokens, and the probabilities of predictions."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from regard.inspect.flow.parts import At, Box, Cell, Labels, Stage, product
from regard.inspect.flow.recording import Recording
from regard.inspect.flow.steps import (
    added,
    applied,
    bias_of,
    dot,
    linear,
    normalised,
    scaled,
    softmax_cell,
)

# Predictions that the last box shows.
CANDIDATES = 12


def looked_up(name: str, says: str, values: Tensor, rows: Labels) -> Stage:
    """Rows of a table."""

    def cell(row: int, column: int) -> Cell:
        return Cell(steps=(("looked up in the table", float(values[row, column])),))

    return Stage(name, says, values, cell, rows)


def embedding_box(
    name: str,
    ids: Tensor,
    embedding: nn.Embedding,
    side: str,
    factor: float = 1.0,
    more: dict[str, Tensor] | None = None,
) -> Box:
    """The table's row for each id [R], times √d where the model has that, plus positions and
    whatever else is added.
    """
    rows = embedding.weight[ids].detach()
    parts = {"token": rows * factor, **(more or {})}
    total = torch.stack(list(parts.values())).sum(0)

    def stages(at: At) -> list[Stage]:
        says = f"Each token’s row of the table, {embedding.num_embeddings} × {rows.size(1)}."
        found = [looked_up("embedding", says, rows, side)]
        if factor != 1:
            size = "Times √d, so that tokens are not small beside their positions."
            found.append(scaled("embedding · √d", size, rows, factor, side))
        for each, values in (more or {}).items():
            said = f"A vector for each {each}: added, so that the same token differs with it."
            found.append(looked_up(each, said, values, side))
        if len(parts) > 1:
            names = " + ".join(parts)
            found.append(added(names, "What enters the first layer.", parts, total, side))
        return found

    title = "Embedding" + "".join(f" + {each}" for each in (more or {}))
    shape = f"{len(ids)} ids → {product(*total.shape)}"
    return Box(name, title, shape, side, total, stages, stream=total)


def norm_box(recording: Recording, norm: nn.Module, name: str, title: str, side: str) -> Box:
    x, output = next(iter(recording.last(norm).given.values()))[0], recording.output(norm)

    def stages(at: At) -> list[Stage]:
        return [normalised(norm, x, output, side)]

    return Box(name, title, product(*x.shape), side, output, stages)


def dense_box(
    name: str,
    title: str,
    x: Tensor,
    layer: nn.Linear,
    side: str,
    after: tuple[str, Callable[[Tensor], Tensor]] | None = None,
) -> Box:
    """A linear map [R, in] → [R, out], and a function of each number after it."""
    weight, bias = layer.weight.detach(), bias_of(layer)
    mapped = nn.functional.linear(x, weight, bias)
    output = mapped if after is None else after[1](mapped)

    def stages(at: At) -> list[Stage]:
        says = f"{x.size(1)} numbers become {mapped.size(1)}."
        found = [
            linear(
                "x · W + b" if bias is not None else "x · W", says, x, weight, bias, mapped, side
            )
        ]
        if after is not None:
            found.append(applied(after[0], "Of each number.", mapped, output, after[0], side))
        return found

    shape = f"{product(*x.shape)} → {product(*output.shape)}"
    return Box(name, title, shape, side, output, stages)


def prediction_box(
    x: Tensor,
    output: nn.Linear,
    names: Callable[[Sequence[int]], list[str]],
    side: str,
    temperature: float = 1.0,
) -> Box:
    """Logits [R, V] and their softmax. There may be very many, so the likeliest are shown, of the
    row that is asked for.
    """
    weight = output.weight.detach()
    bias = bias_of(output)
    logits = nn.functional.linear(x, weight, bias)

    def stages(at: At) -> list[Stage]:
        row = at.row(side, len(x))
        own = logits[row] / temperature
        ids = own.topk(min(CANDIDATES, own.numel())).indices
        labels = tuple(names(ids.tolist()))
        chosen = logits[row, ids][:, None]

        def logit(place: int, column: int) -> Cell:
            number = ids[place]
            return dot(
                ("x", "w", "x · w"), x[row], weight[number], None if bias is None else bias[number]
            )

        says = f"The row is multiplied with {len(own)} vectors, one for each of what can follow."
        shown = [Stage("logits", says, chosen, logit, labels, ("logit",))]
        if temperature != 1:
            divided = own[ids][:, None]
            heat = "Divided by the temperature that calibration found."
            shown.append(scaled_by(divided, chosen, temperature, heat, labels))
        shares = own.double().softmax(-1)[ids][:, None]

        def share(place: int, column: int) -> Cell:
            found = softmax_cell(own, int(ids[place]), labels)
            return Cell(steps=found.steps)

        says = "e to the power of each, divided by the sum over all of them."
        return [*shown, Stage("softmax", says, shares, share, labels, ("probability",))]

    shape = f"{product(*x.shape)} → {product(len(x), logits.size(1))}"
    return Box("output", "Linear & softmax", shape, side, logits, stages)


def scaled_by(
    values: Tensor, chosen: Tensor, temperature: float, says: str, labels: tuple[str, ...]
) -> Stage:
    def cell(place: int, column: int) -> Cell:
        steps = (("logit", float(chosen[place, 0])), ("÷ temperature", temperature))
        return Cell(steps=(*steps, ("=", float(values[place, 0]))))

    return Stage("÷ temperature", says, values, cell, labels, ("logit ÷ temperature",))


def root(width: int) -> float:
    return math.sqrt(width)
