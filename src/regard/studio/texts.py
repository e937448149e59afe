"""Questions about runs that do not translate: the model's answer to a text, its alternatives, and
the attention of its tokens.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from regard import tasks
from regard.errors import RequestError
from regard.inspect.heads.heads import Attention, attentions
from regard.inspect.maps import Maps, carried_products, padded, recording, stacked
from regard.studio.endpoints import layer_maps
from regard.studio.requests import Text, TextLayer
from regard.studio.runs import OpenRun
from regard.tasks.task import TextQuestion

# Models of one stack have one kind of attention; it has this name here, even if it is causal.
PART = "encoder"


def text(run: OpenRun, asked: Text) -> dict[str, Any]:
    """The task's answer to a text, with its tokens and the number of heads in each layer."""
    look = tasks.get(run.task).look
    if look is None:
        raise RequestError(f"{run.folder}: this run has no text to look at")
    with run.opened(asked.step) as found:
        if not asked.text.strip() and not can_begin(run):
            raise RequestError("the text is empty; give one to look at")
        with recorded(run, asked, found.model):
            answer = look(found, TextQuestion(asked.text, tuple(asked.prefix), asked.more))
        return {**answer, "heads": kept(run).heads[PART]}


def can_begin(run: OpenRun) -> bool:
    """Whether the model can write without a given beginning."""
    return "completions" in tasks.entry(run.task).serves


def text_layer(run: OpenRun, asked: TextLayer) -> Tensor:
    """The attention of the tokens in one layer, [h, T, T], as `layer_maps` gives it."""
    key = asked.model_dump_json(include=set(Text.model_fields))
    if run.text_maps is None or run.text_maps[0] != key:
        text(run, Text(**asked.model_dump(include=set(Text.model_fields))))
    return layer_maps(kept(run), PART, asked.layer, asked.measure)


def kept(run: OpenRun) -> Maps:
    return recorded_last([]) if run.text_maps is None else run.text_maps[1]


@contextmanager
def recorded(run: OpenRun, asked: Text, model: Any) -> Iterator[None]:
    """Keep the attention of the last pass over a whole text inside the block."""
    with recording(model):
        yield
        found = recorded_last([layer for part in attentions(model).values() for layer in part])
    run.text_maps = asked.model_dump_json(include=set(Text.model_fields)), found


@torch.no_grad()
def recorded_last(layers: Sequence[Attention]) -> Maps:
    """The maps of the last pass that was recorded."""
    used = [
        (each, each.record[-1][0], each.record_values[-1][0])
        for each in layers
        if each.record and each.record_values
    ]
    weights = [found for _, found, _ in used]
    length = weights[0].size(-1) if weights else 0
    empty = torch.zeros(0, 0, length, length)
    return Maps(
        encoder=stacked(weights, length, length),
        decoder=empty,
        cross=empty,
        heads={PART: [len(each) for each in weights]},
        carried={PART: padded([carried_products(each, values) for each, _, values in used])},
    )
