"""Questions about runs that do not translate: the model's answer to a text, its alternatives, and
the attention of its tokens.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from regard import tasks
from regard.errors import RequestError
from regard.inspect.heads.heads import Attention, Head, attentions, heads_off
from regard.inspect.maps import (
    Maps,
    carried_products,
    padded,
    recorded_maps,
    recording,
    stacked,
)
from regard.inspect.numbers import numbers_of_pass
from regard.run import Run
from regard.studio.endpoints import layer_maps
from regard.studio.requests import HeadsOff, Text, TextLayer, TextWeight
from regard.studio.runs import OpenRun
from regard.tasks.attender import USES, Attender, TextPass
from regard.tasks.filler import MASK
from regard.tasks.task import TextQuestion
from regard.text.tokenizer import Tokenizer

# Models of one stack have one kind of attention; it has this name here, even if it is causal.
PART = "encoder"


def text(run: OpenRun, asked: Text) -> dict[str, Any]:
    """The task's answer to a text, with its tokens and the number of heads in each layer."""
    look = tasks.get(run.task).look
    if look is None:
        raise RequestError(f"{run.folder}: this run has no text to look at")
    with altered(run, asked) as found:
        if not asked.text.strip() and not can_begin(run):
            raise RequestError("the text is empty; give one to look at")
        with recorded(run, asked, found.model):
            answer = look(found, TextQuestion(asked.text, tuple(asked.prefix), asked.more))
        return {**answer, "heads": kept(run).heads[PART]}


@contextmanager
def altered(run: OpenRun, asked: HeadsOff) -> Iterator[Any]:
    """The object that answers, some heads of its model off."""
    if asked.off and asked.by == "mean":
        raise RequestError("the average output of a head is known of translators only")
    with run.opened(asked.step) as found, ExitStack() as stack:
        if asked.off:
            stack.enter_context(heads_off(found.model, asked.off, asked.by))
        yield found


def can_begin(run: OpenRun) -> bool:
    """Whether the model can write without a given beginning."""
    return "completions" in tasks.entry(run.task).serves


def text_layer(run: OpenRun, asked: TextLayer) -> Tensor:
    """The attention of the tokens in one layer, [h, T, T], as `layer_maps` gives it."""
    if asked.kind is not None:
        with passed(run, asked) as (_, _, maps):
            return layer_maps(maps, asked.kind, asked.layer, asked.measure)
    key = asked.model_dump_json(include=set(Text.model_fields))
    if run.text_maps is None or run.text_maps[0] != key:
        text(run, Text(**asked.model_dump(include=set(Text.model_fields))))
    return layer_maps(kept(run), PART, asked.layer, asked.measure)


@contextmanager
def passed(run: OpenRun, asked: Text) -> Iterator[tuple[Attender, TextPass, Maps]]:
    """One pass over the text itself, and its maps, which the page asks for layer by layer."""
    with altered(run, asked) as found:
        if not asked.text.strip() and not asked.prefix:
            raise RequestError("the text is empty; give one to look at")
        tokenizer = Run(run.folder).tokenizers().source
        prefix = [each for each in asked.prefix if 0 <= each < len(tokenizer)]
        attender = Attender(found.model, tokenizer, USES[run.task], run.folder)
        whole = attender.whole_pass(asked.text, prefix)
        key = asked.model_dump_json(include=set(Text.model_fields))
        if run.passed is None or run.passed[0] != key:
            run.passed = key, recorded_maps(found.model, whole.read, whole.places, whole.places)
        yield attender, whole, run.passed[1]


@torch.no_grad()
def text_trace(run: OpenRun, asked: Text) -> dict[str, Any]:
    """What a text is to the model: its pieces and words, and the heads that look at them. One that
    writes has an output, which is the text; others read it as it is, with its marks.
    """
    with passed(run, asked) as (attender, whole, maps):
        tokenizer = attender.tokenizer
        side = {
            "ids": whole.ids,
            "pieces": shown_pieces(tokenizer, whole.ids),
            "word_of": whole.word_of,
            "words": whole.words,
            "text": asked.text,
        }
        heads = {part: list(counts) for part, counts in maps.heads.items()}
        found = {"source": side, "heads": heads, "aligners": [], "marked": True}
        return {**found, "output": side} if attender.use == "writes" else found


def shown_pieces(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """Pieces, and the names of the marks."""
    specials = tokenizer.specials
    names = {specials.start: "⟨start⟩", specials.end: "⟨end⟩", specials.mask: MASK}
    pieces = tokenizer.pieces(ids)
    return [names.get(each, piece) for each, piece in zip(ids, pieces, strict=True)]


def text_weight(run: OpenRun, asked: TextWeight) -> dict[str, Any]:
    """Every number behind one weight of a pass over the text."""
    with passed(run, asked) as (attender, whole, _):
        head = Head(asked.kind, asked.layer, asked.head)
        return asdict(numbers_of_pass(attender.model, whole.read, head, asked.query, asked.key))


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
