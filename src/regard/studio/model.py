"""Questions about the way of an input through the whole model, box by box."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from regard import tasks
from regard.data.batch import batch_pairs
from regard.errors import RequestError
from regard.inspect.flow.flows import flow_of_pair
from regard.inspect.flow.parts import At, Box, Cell, Flow, Labels, Stage
from regard.inspect.heads.heads import heads_off
from regard.studio.endpoints import changed, pair_ids, without_positions
from regard.studio.requests import InBox, InCell, Input, InStage
from regard.studio.runs import OpenRun
from regard.tasks.task import TextQuestion

# Numbers in the strip of a box, and guesses of the lens.
STRIP, GUESSES = 24, 3
START, END = "⟨start⟩", "⟨end⟩"


@contextmanager
def opened(run: OpenRun, asked: Input) -> Iterator[Flow]:
    """The flow of an input, kept from one question to the next."""
    key = asked.model_dump_json(include=set(Input.model_fields) - {"row", "col"})
    if "translate" in tasks.entry(run.task).views:
        with changed(run, asked) as translator:
            if run.flow is None or run.flow[0] != key:
                run.flow = key, translated(translator, asked)
            yield run.flow[1]
        return
    with run.opened(asked.step) as found:
        if run.flow is None or run.flow[0] != key:
            run.flow = key, read(run, found, asked)
        yield run.flow[1]


@torch.no_grad()
def translated(translator: Any, asked: Input) -> Flow:
    if not asked.source:
        raise RequestError("there is no sentence yet; type one")
    source, target = pair_ids(translator, asked)  # type: ignore[arg-type]
    tokenizers = translator.tokenizers
    pieces = tokenizers.target.pieces
    batch = batch_pairs([source], [target], tokenizers.target.specials.start)
    labels = {
        "source": [*tokenizers.source.pieces(source[:-1]), END],
        "target": [START, *pieces(target[:-1])],
        "predicts": [*pieces(target[:-1]), END],
    }
    end = tokenizers.target.specials.end

    def names(ids: Any) -> list[str]:
        return [END if one == end else piece for one, piece in zip(ids, pieces(ids), strict=True)]

    device = next(translator.model.parameters()).device
    return flow_of_pair(translator.model, batch.to(device), labels, names)


@torch.no_grad()
def read(run: OpenRun, found: Any, asked: Input) -> Flow:
    flow = tasks.get(run.task).flow
    if flow is None:
        raise RequestError(f"{run.folder}: the way through such a model is not shown yet")
    if not asked.positions:
        with without_positions(found.model):
            return flow(found, TextQuestion(asked.text, tuple(asked.prefix)))
    with heads_off(found.model, asked.off, "zero"):
        return flow(found, TextQuestion(asked.text, tuple(asked.prefix)))


def at(asked: Input, head: int = 0) -> At:
    rows = {"source": asked.col, "target": asked.row, "text": asked.row, "unit": asked.row}
    return At(head, rows)


@torch.no_grad()
def outline(run: OpenRun, asked: Input) -> dict[str, Any]:
    """All boxes of a model, each with its shape, and with the numbers of the visitor's rows."""
    place = at(asked)
    with opened(run, asked) as flow:
        return {
            "labels": flow.labels,
            "stacks": [
                {
                    "name": stack.name,
                    "title": stack.title,
                    "side": stack.side,
                    "boxes": [boxed(flow, box, place) for box in stack.boxes],
                }
                for stack in flow.stacks
            ],
        }


def boxed(flow: Flow, box: Box, place: At) -> dict[str, Any]:
    row = place.row(box.side, len(box.output))
    own = box.output[row]
    guesses = [] if box.stream is None else flow.guesses(box.stream[row], GUESSES)
    return {
        "name": box.name,
        "title": box.title,
        "shape": box.shape,
        "side": box.side,
        "layer": box.layer,
        "heads": box.heads,
        "part": box.part,
        "reads": box.reads,
        "adds": box.adds,
        "row": row,
        "strip": own[:STRIP].tolist(),
        "width": own.numel(),
        "lens": [asdict(each) for each in guesses],
    }


def box_of(flow: Flow, asked: InBox) -> Box:
    found = flow.box(asked.box)
    if found is None:
        raise RequestError(f"there is no box {asked.box!r} in this model; reload the page")
    return found


@torch.no_grad()
def opened_box(run: OpenRun, asked: InBox) -> dict[str, Any]:
    """What happens in a box, stage by stage; the numbers are asked for one stage at a time."""
    with opened(run, asked) as flow:
        box = box_of(flow, asked)
        stages = box.stages(at(asked, asked.head))
        return {"box": boxed(flow, box, at(asked)), "stages": [staged(flow, s) for s in stages]}


def staged(flow: Flow, stage: Stage) -> dict[str, Any]:
    finite = stage.values[stage.values.isfinite()]
    return {
        "name": stage.name,
        "says": stage.says,
        "rows": labels_of(flow, stage.rows),
        "columns": labels_of(flow, stage.columns),
        "side": stage.rows if isinstance(stage.rows, str) else "",
        "size": list(stage.values.shape),
        "least": float(finite.min()) if finite.numel() else 0.0,
        "most": float(finite.max()) if finite.numel() else 0.0,
    }


def labels_of(flow: Flow, labels: Labels) -> list[str]:
    """None for numbered dimensions."""
    if isinstance(labels, tuple):
        return list(labels)
    return flow.labels.get(labels, [])


def stage_of(flow: Flow, asked: InStage) -> Stage:
    stages = box_of(flow, asked).stages(at(asked, asked.head))
    if asked.stage >= len(stages):
        raise RequestError(f"{asked.box} has {len(stages)} stages; reload the page")
    return stages[asked.stage]


@torch.no_grad()
def stage(run: OpenRun, asked: InStage) -> Tensor:
    """The numbers of a stage [R, C]."""
    with opened(run, asked) as flow:
        return stage_of(flow, asked).values.float().cpu()


@torch.no_grad()
def cell(run: OpenRun, asked: InCell) -> dict[str, Any]:
    """Where one number comes from, down to single products."""
    with opened(run, asked) as flow:
        found = stage_of(flow, asked)
        (row, column), (rows, columns) = asked.at, found.values.shape
        if not (0 <= row < rows and 0 <= column < columns):
            raise RequestError(f"there is no number {row}, {column} here; reload the page")
        value = float(found.values[row, column])
        return told(flow, found.cell(row, column), value)


def told(flow: Flow, found: Cell, value: float) -> dict[str, Any]:
    return {
        "names": found.names,
        "lists": [[shown(each) for each in values] for values in found.lists],
        "labels": labels_of(flow, found.labels),
        "steps": [[name, shown(each)] for name, each in found.steps],
        "value": shown(value),
    }


def shown(value: float) -> float | None:
    """JSON has no −∞, so it is None there."""
    return value if value > float("-inf") else None
