"""The answers to the page: a function for each question, request in, plain data out."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.data.batch import batch_pairs
from regard.decode.search import Search
from regard.engines.native import Native
from regard.errors import RequestError
from regard.inspect.alternatives import alternatives
from regard.inspect.heads.heads import Head, Part, head_means
from regard.inspect.maps import Maps, Measure, attention_maps
from regard.inspect.numbers import numbers
from regard.inspect.positions import position_table
from regard.inspect.tree import Rules, Watch, grow
from regard.run import Run
from regard.studio.requests import (
    LONGEST,
    Asked,
    Changed,
    Layer,
    Length,
    Pair,
    Sentence,
    Weight,
)
from regard.studio.runs import OpenRun
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.decode.contract import Rows
    from regard.decode.hypothesis import Hypothesis
    from regard.tasks.translation.translator import Translator

# Tokens that are shown beside the one that was taken.
ALTERNATIVES = 8
# Validation sentences over which a head's output is averaged.
SENTENCES_FOR_MEANS = 64


@contextmanager
def changed(run: OpenRun, asked: Changed) -> "Iterator[Translator]":
    """The model as the page wants it: some heads off or made to look elsewhere, or without
    positions.
    """
    with run.translator(asked.step) as translator, ExitStack() as stack:
        if asked.off:
            means = means_of(run, translator, asked.step) if asked.by == "mean" else None
            stack.enter_context(translator.heads_off(asked.off, asked.by, means))
        if (forced := asked.forced) is not None:
            wanted = {forced.heads: {forced.position: forced.pieces}}
            stack.enter_context(translator.forced(wanted))
        if not asked.positions:
            stack.enter_context(without_positions(translator.model))
        yield translator


def means_of(run: OpenRun, translator: "Translator", step: int) -> dict[Head, Tensor]:
    """The mean output of each head, measured once for each of the run's weights."""
    from regard.tasks.translation.held_out import held_out_batches

    if step not in run.means:
        batches = held_out_batches(Run(run.folder), SENTENCES_FOR_MEANS)
        run.means[step] = head_means(translator.model, batches)
    return run.means[step]


@contextmanager
def without_positions(model: Any) -> Iterator[None]:
    """Inside the block the model gets no positions of its tokens."""
    if getattr(model.config, "positions", None) is None:
        raise RequestError("this model counts no positions: it reads one token after the other")
    kept = model.positions, model.rotary
    model.positions = model.rotary = None
    try:
        yield
    finally:
        model.positions, model.rotary = kept


def translate(run: OpenRun, asked: Sentence, report: Callable[[list[str]], None]) -> dict[str, Any]:
    """The outputs of beam search, best first; `report` gets the best so far at every step, and may
    stop the search by raising.
    """
    with changed(run, asked) as translator:
        target = translator.tokenizers.target

        def watch(scores: Tensor, rows: "Rows") -> Tensor:
            report(target.pieces(rows.tokens[0].tolist()))
            return scores

        source, whole = source_ids(translator, asked)
        prefix = prefix_ids(translator, asked)
        engine = Native(translator.model, target.specials)
        search = search_of(translator, asked)
        found = engine.watched(source, prefix, search, watch) if source else []
        return {
            "source": side(translator.tokenizers.source, source),
            "outputs": [output(target, each) for each in found],
            "prefix": len(prefix),
            "whole": whole,
            "usual": translator.limit,
            "unseen_words": translator.unseen_words(asked.text),
        }


def search_of(translator: "Translator", asked: Sentence) -> Search:
    """The run's own search, with the settings of the page."""
    return replace(
        translator.search,
        beam_size=asked.beam_size,
        n_best=asked.beam_size,
        length_penalty=asked.length_penalty,
    )


def source_ids(translator: "Translator", asked: Sentence) -> tuple[list[int], bool]:
    """The ids of a text, and whether the whole text fits."""
    ids = translator.tokenizers.source.encode(asked.text)
    most = min(LONGEST, translator.model.longest) - 1
    check_look(asked, len(ids[:most]) + 1)
    return ids[:most], len(ids) <= most


def check_look(asked: Changed, pieces: int) -> None:
    """Check that forced heads look at pieces of the source; it has `pieces` of them, with END."""
    if asked.forced is not None and not all(0 <= each < pieces for each in asked.forced.pieces):
        raise RequestError(
            f"look at {asked.forced.pieces}: the source has pieces 0 to {pieces - 1}; let go of it"
        )


def prefix_ids(translator: "Translator", asked: Sentence) -> list[int]:
    target = translator.tokenizers.target
    return [*known(asked.prefix, target), *target.encode(asked.typed)]


def known(ids: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """Check that a text can have these ids: a page may send anything."""
    for each in ids:
        if each in tokenizer.specials or not 0 <= each < len(tokenizer):
            raise RequestError(f"there is no piece {each} that a text can have; reload the page")
    return list(ids)


def side(tokenizer: Tokenizer, ids: Sequence[int]) -> dict[str, Any]:
    """Pieces and words of one side, without END."""
    text = tokenizer.decode(ids)
    return {
        "ids": list(ids),
        "pieces": tokenizer.pieces(ids),
        "word_of": tokenizer.word_of(ids),
        "words": text.split(" ") if text else [],
        "text": text,
    }


def output(tokenizer: Tokenizer, hypothesis: "Hypothesis") -> dict[str, Any]:
    return {
        **side(tokenizer, hypothesis.tokens),
        "score": hypothesis.score,
        "log_probabilities": hypothesis.log_probabilities,
        "finished": hypothesis.finished,
    }


def pair_ids(translator: "Translator", asked: Pair) -> tuple[list[int], list[int]]:
    """Both sides with END, as models read them."""
    source, target = translator.tokenizers
    longest = translator.model.longest
    if max(len(asked.source), len(asked.output)) >= longest:
        raise RequestError(f"the sentence is longer than the model's {longest} positions")
    check_look(asked, len(asked.source) + 1)
    end = target.specials.end
    return [*known(asked.source, source), end], [*known(asked.output, target), end]


@torch.inference_mode()
def trace(run: OpenRun, asked: Pair) -> dict[str, Any]:
    """The model's alternatives at each position of an output, and the heads that have maps."""
    with changed(run, asked) as translator:
        source, target = pair_ids(translator, asked)
        specials = translator.tokenizers.target.specials
        batch = batch_pairs([source], [target], specials.start)
        logits = translator.model(batch.source, batch.source_mask, batch.target)[0]
        tokenizers, aligners = translator.tokenizers, translator.aligners
        pieces = tokenizers.target.vocabulary
        maps = maps_of(run, asked, translator)
        read = side(tokenizers.source, source[:-1])
        return {
            "source": {**read, "unseen": list(filter(translator.unseen_words, read["words"]))},
            "output": side(tokenizers.target, target[:-1]),
            "steps": [asdict(each) for each in alternatives(logits, target, pieces, ALTERNATIVES)],
            "end": specials.end,
            "heads": {part: list(counts) for part, counts in maps.heads.items()},
            "aligners": [asdict(each) for each in aligners.scores] if aligners else [],
        }


def maps_of(run: OpenRun, asked: Pair, translator: "Translator") -> Maps:
    """The maps of all layers, kept from one pass: the page asks for one layer after the other."""
    key = asked.model_dump_json(include=set(Pair.model_fields))
    if run.maps is None or run.maps[0] != key:
        start = translator.tokenizers.target.specials.start
        run.maps = key, attention_maps(translator.model, *pair_ids(translator, asked), start)
    return run.maps[1]


def layer(run: OpenRun, asked: Layer) -> Tensor:
    """The weights of one layer, [h, rows, columns]."""
    with changed(run, asked) as translator:
        maps = maps_of(run, asked, translator)
        return layer_maps(maps, asked.kind, asked.layer, asked.measure)


def layer_maps(maps: Maps, part: Part, layer: int, measure: Measure) -> Tensor:
    """The maps of a layer, [h, rows, columns]. "norm" has one more, of all heads together, since it
    does not follow from the others.
    """
    counts = maps.heads[part]
    if layer >= len(counts):
        raise RequestError(f"{part} attention has {len(counts)} layers; reload the page")
    heads: list[int | None] = [*range(counts[layer])]
    if measure == "norm":
        heads.append(None)
    return torch.stack([maps.weights(part, layer, head, measure) for head in heads])


def weight(run: OpenRun, asked: Weight) -> dict[str, Any]:
    """Every number behind one weight."""
    with changed(run, asked) as translator:
        head = Head(asked.kind, asked.layer, asked.head)
        pair = pair_ids(translator, asked)
        start = translator.tokenizers.target.specials.start
        return asdict(numbers(translator.model, *pair, head, asked.query, asked.key, start))


def tree(run: OpenRun, asked: Sentence) -> dict[str, Any]:
    """The tree of the search for a sentence, with everything that it considered."""
    with changed(run, asked) as translator:
        source, _ = source_ids(translator, asked)
        if not source:
            raise RequestError("the text is empty; give a sentence to search for")
        prefix, search = prefix_ids(translator, asked), search_of(translator, asked)
        specials = translator.tokenizers.target.specials
        engine, watch = Native(translator.model, specials), Watch()
        engine.watched(source, prefix, search, watch)
        limit = engine.max_length(source, prefix, search)
        found = grow(watch, Rules(search.beam_size, search.length_penalty, limit, specials.end))
        pieces = translator.tokenizers.target.pieces([node.token for node in found.nodes])
        return {**asdict(replace(found, pieces=pieces)), "end": specials.end}


def positions(run: OpenRun, asked: Length) -> dict[str, Any]:
    """The table of encodings and its dot products."""
    with run.opened(asked.step) as found:
        return asdict(position_table(found.model, asked.length))


def importance(run: OpenRun, asked: Asked) -> dict[str, Any]:
    """The measurements of `regard heads` for these weights, if it was run."""
    return {"found": Run(run.folder).finding("heads")}
