"""Questions about runs that do not translate: what a model writes, fills in or labels, what else it
considered, and what its tokens attend to.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from regard.data.label_ids import encode
from regard.decode.sample import sample
from regard.errors import RequestError
from regard.inspect.alternatives import alternatives
from regard.inspect.heads import Attention, Part, attentions
from regard.inspect.maps import Maps, carried_products, padded, recording, stacked
from regard.studio.endpoints import layer_maps
from regard.studio.requests import LONGEST, Text, TextLayer
from regard.studio.runs import OpenRun
from regard.tasks.classification import Classifier
from regard.tasks.filler import MASK, Filler
from regard.tasks.labelling import Labels
from regard.tasks.tagging import Tagger
from regard.tasks.writer import Writer, Writing

ALTERNATIVES = 8
# Models of one stack have one kind of attention; here it is called so whichever way it looks.
PART: Part = "encoder"


def text(run: OpenRun, asked: Text) -> dict[str, Any]:
    """Whatever the task makes of a text, with its tokens and how many heads look at them."""
    with run.opened(asked.step) as task:
        if not asked.text.strip() and not isinstance(task, Writer):
            raise RequestError("the text is empty; give one to look at")
        with recorded(run, asked, model_of(task)):
            match task:
                case Writer():
                    answer = written(task, asked)
                case Filler():
                    answer = filled(task, asked.text)
                case Classifier():
                    answer = classified(task, asked.text)
                case Tagger():
                    answer = tagged(task, asked.text)
                case _:
                    raise RequestError(f"{run.folder}: this run has no text to look at")
        return {**answer, "heads": kept(run).heads[PART]}


def text_layer(run: OpenRun, asked: TextLayer) -> Tensor:
    """What the tokens attend to in one layer, [h, T, T], as `layer_maps` gives it."""
    key = asked.model_dump_json(include=set(Text.model_fields))
    if run.text_maps is None or run.text_maps[0] != key:
        text(run, Text(**asked.model_dump(include=set(Text.model_fields))))
    return layer_maps(kept(run), PART, asked.layer, asked.measure)


def model_of(task: Any) -> Any:
    return task.labels.model if isinstance(task, Classifier | Tagger) else task.model


def kept(run: OpenRun) -> Maps:
    return recorded_last([]) if run.text_maps is None else run.text_maps[1]


@contextmanager
def recorded(run: OpenRun, asked: Text, model: Any) -> Iterator[None]:
    """Keep the attention of the last pass over a whole text that is made inside."""
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
    nothing = torch.zeros(0, 0, length, length)
    return Maps(
        encoder=stacked(weights, length, length),
        decoder=nothing,
        cross=nothing,
        heads={PART: [len(each) for each in weights]},
        carried={PART: padded([carried_products(each, values) for each, _, values in used])},
    )


@torch.inference_mode()
def written(writer: Writer, asked: Text) -> dict[str, Any]:
    """A text continued, with what might have stood at each place of it."""
    if writer.backward:
        raise RequestError("this model reads backwards: it cannot go on with a text")
    tokenizer = writer.tokenizer
    specials = tokenizer.specials
    size = len(tokenizer)
    given = [*tokenizer.encode(asked.text), *(each for each in asked.prefix if 0 <= each < size)]
    longest = min(LONGEST, writer.limit) - 1
    if len(given) >= longest:
        raise RequestError(f"the text has {len(given)} pieces, at most {longest} can be looked at")
    ids = [
        *given,
        *continued(writer, given or [specials.end], min(asked.more, longest - len(given))),
    ]
    if not ids:
        raise RequestError("the model ends the text at once; give it a beginning")
    end = torch.tensor([[specials.end]])
    # As it is written: the first token of a document follows its end, the others what is before.
    logits = [writer.model(end)[0]]
    if len(ids) > 1:
        logits.append(writer.model(torch.tensor([ids[:-1]]))[0])
    pieces = tokenizer.pieces(range(size))
    found = alternatives(torch.cat(logits)[: len(ids)], ids, pieces, ALTERNATIVES)
    return {
        # Of the last pass, in which nothing follows the last token.
        "pieces": tokenizer.pieces(ids[:-1] or ids),
        "ids": ids,
        "steps": [asdict(each) for each in found],
        "given": len(given),
    }


def continued(writer: Writer, given: Sequence[int], count: int) -> Iterator[int]:
    """The likeliest tokens that follow."""
    model: Any = writer.model
    specials = writer.tokenizer.specials
    state, tokens = model.start(1), torch.tensor(list(given))
    for token in tokens[:-1]:
        _, state = model.step(token[None], state)
    allowed = Writing(temperature=0).filters(specials.never)
    limits = torch.tensor([max(1, count)])
    drawn = sample(
        model.step, state, tokens[-1:], max_lengths=limits, end=specials.end, filters=allowed
    )
    for token in drawn:
        if int(token) == specials.end:
            return
        yield int(token)


def filled(filler: Filler, given: str) -> dict[str, Any]:
    """What may stand at each mask."""
    ids, _ = filler.encode(given)
    found = filler.fill(given, ALTERNATIVES)
    mask = filler.tokenizer.specials.mask
    pieces = [
        MASK if token == mask else piece
        for token, piece in zip(ids, filler.tokenizer.pieces(ids), strict=True)
    ]
    return {"pieces": pieces, "filled": asdict(found)}


def classified(classifier: Classifier, given: str) -> dict[str, Any]:
    found = classifier.classify([given])[0]
    ids = read(classifier.labels, [given], whole_text=True)
    pieces = classifier.labels.tokenizer.pieces(ids)
    return {"pieces": pieces, "labels": found.probabilities}


def tagged(tagger: Tagger, given: str) -> dict[str, Any]:
    found = tagger.tag([given])[0]
    ids = read(tagger.labels, given.split(), whole_text=False)
    pieces = tagger.labels.tokenizer.pieces(ids)
    return {"pieces": pieces, "tags": [asdict(each) for each in found]}


def read(labels: Labels, units: list[str], whole_text: bool) -> list[int]:
    """The ids of the last row that a labeller reads of a text, which is what was recorded last."""
    rows = list(encode([units], labels.tokenizer, labels.max_length, whole_text))
    specials = labels.tokenizer.specials
    longest = max(rows, key=lambda row: len(row[2].pieces))[2]
    return [specials.start, *map(int, longest.pieces), specials.end]
