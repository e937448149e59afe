"""The way of a text through a model, for tasks that do not translate."""

from collections.abc import Sequence
from typing import Any

import torch

from regard.data.label_ids import batch_rows, encode
from regard.errors import RequestError
from regard.inspect.flow.flows import flow_of_writer
from regard.inspect.flow.parts import Flow
from regard.inspect.flow.text import labeller_flow, masked_flow
from regard.tasks.filler import MASK
from regard.tasks.labelling import Labelling
from regard.tasks.task import TextQuestion

# Pieces of a text whose way is shown.
LONGEST_SHOWN = 512


def writer_flow(writer: Any, asked: TextQuestion) -> Flow:
    """What a language model makes of a text and the pieces that continue it."""
    tokenizer = writer.tokenizer
    size = len(tokenizer)
    ids = [*tokenizer.encode(asked.text), *(each for each in asked.prefix if 0 <= each < size)]
    ids = ids or [tokenizer.specials.end]  # as if a document began
    longest = min(LONGEST_SHOWN, writer.limit)
    if len(ids) > longest:
        raise RequestError(f"the text has {len(ids)} pieces, at most {longest} can be looked at")
    tokens = torch.tensor([ids], device=device_of(writer.model))
    return flow_of_writer(writer.model, tokens, {"text": tokenizer.pieces(ids)}, tokenizer.pieces)


def filler_flow(filler: Any, asked: TextQuestion) -> Flow:
    """What a masked language model makes of a text with masks."""
    ids, segments = filler.encode(asked.text)
    tokenizer, device = filler.tokenizer, device_of(filler.model)
    mask = tokenizer.specials.mask
    pieces = [
        MASK if token == mask else piece
        for token, piece in zip(ids, tokenizer.pieces(ids), strict=True)
    ]
    tokens = torch.tensor([ids], device=device)
    kinds = torch.tensor([segments], device=device) if max(segments) else None
    seen = torch.ones_like(tokens, dtype=torch.bool)
    return masked_flow(filler.model, tokens, seen, kinds, {"text": pieces}, tokenizer.pieces)


def labels_flow(labelling: Labelling, units: Sequence[str], whole_text: bool) -> Flow:
    """What a classifier makes of a text, or a tagger of words; of many, of the first."""
    if not any(each.strip() for each in units):
        raise RequestError("the text is empty; give one to look at")
    tokenizer = labelling.tokenizer
    _, _, row = next(encode([units], tokenizer, labelling.max_length, whole_text))
    batch = batch_rows([row], tokenizer.specials, whole_text).to(device_of(labelling.model))
    labels = {
        "text": tokenizer.pieces(batch.tokens[0].tolist()),
        "unit": ["the text"] if whole_text else list(units[: len(row.sizes)]),
    }
    return labeller_flow(
        labelling.model,
        (batch.tokens, batch.mask, batch.units),
        labels,
        lambda ids: [labelling.names[each] for each in ids],
        labelling.temperature,
    )


def device_of(model: Any) -> torch.device:
    return next(model.parameters()).device  # type: ignore[no-any-return]
