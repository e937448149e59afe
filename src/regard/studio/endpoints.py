"""What the page is told: a function for each question, request in, plain data out.

T output pieces with END, S source pieces with END.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import batch_pairs
from regard.errors import RequestError
from regard.search import Search
from regard.studio.requests import LONGEST, Layer, Pair, Sentence
from regard.studio.runs import OpenRun
from regard.text.tokenizer import END, Tokenizer

if TYPE_CHECKING:
    from regard.decode.contract import Filter, Rows
    from regard.hypothesis import Hypothesis
    from regard.tasks import Translator

# Tokens that are shown beside the one that was taken.
ALTERNATIVES = 8


@dataclass(frozen=True)
class Watched(Search):
    """A search that shows its best hypothesis at every step; who watches may stop it by raising."""

    watch: Callable[[list[int]], None] = lambda tokens: None

    def filters(self) -> "list[Filter]":
        return [*super().filters(), self._look]

    def _look(self, scores: Tensor, rows: "Rows") -> Tensor:
        if rows.tokens.size(1):
            self.watch(rows.tokens[0].tolist())
        return scores


def translate(run: OpenRun, asked: Sentence, watch: Callable[[list[str]], None]) -> dict[str, Any]:
    """The outputs of beam search, best first; `watch` sees the best as it grows."""
    with run.translator(asked.step) as translator:
        source, whole = source_ids(translator, asked.text)
        target = translator.tokenizers.target
        prefix = [*known(asked.prefix, target), *target.encode(asked.typed)]
        settings = {each.name: getattr(translator.search, each.name) for each in fields(Search)}
        settings |= {"beam_size": asked.beam_size, "n_best": asked.beam_size, "temperature": None}
        settings |= {"length_penalty": asked.length_penalty, "top_k": 0, "top_p": 1.0}
        search = Watched(**settings, watch=lambda tokens: watch(target.pieces(tokens)))
        found = translator.engine.search([source], [prefix], search)[0] if source else []
        return {
            "source": side(translator.tokenizers.source, source),
            "outputs": [output(target, each) for each in found],
            "prefix": len(prefix),
            "whole": whole,
            "usual": translator.limit,
        }


def source_ids(translator: "Translator", text: str) -> tuple[list[int], bool]:
    """The pieces of a text, and whether they are all of it."""
    ids = translator.tokenizers.source.encode(text)
    most = min(LONGEST, translator.model.longest) - 1
    return ids[:most], len(ids) <= most


def known(ids: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """Ids that a text can have; what a page sends may be anything."""
    for each in ids:
        if not END < each < len(tokenizer):
            raise RequestError(f"there is no piece {each} to begin an output with; reload the page")
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


@torch.inference_mode()
def trace(run: OpenRun, asked: Pair) -> dict[str, Any]:
    """What the model thought at each position of an output, and what maps there are."""
    with run.translator(asked.step) as translator:
        source, target = pair_ids(translator, asked)
        batch = batch_pairs([source], [target])
        logits = translator.model(batch.source, batch.source_mask, batch.target)[0].float()
        known_probabilities = logits.log_softmax(-1)  # [T, V]
        maps = maps_of(translator, source, target)
        tokenizers = translator.tokenizers
        return {
            "source": side(tokenizers.source, source[:-1]),
            "output": side(tokenizers.target, target[:-1]),
            "steps": steps(known_probabilities, target, tokenizers.target),
            "shapes": {kind: list(getattr(maps, kind).shape) for kind in KINDS},
        }


KINDS = ("encoder", "decoder", "cross")


def steps(values: Tensor, target: Sequence[int], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """[T, V] log-probabilities → for each position the likeliest pieces, the one that was taken,
    its rank, and the entropy in bits.
    """
    count = min(ALTERNATIVES, values.size(1))
    best, ids = values.topk(count)
    taken = values.gather(1, torch.tensor(target)[:, None])  # [T, 1]
    ranks = (values > taken).sum(1).tolist()
    entropies = (-(values.exp() * values).nansum(1) / np.log(2.0)).tolist()
    return [
        {
            "id": token,
            "log_probability": float(value),
            "rank": rank,
            "entropy": entropy,
            "top": [
                {"id": each, "piece": piece, "log_probability": known_value}
                for each, piece, known_value in zip(
                    row, tokenizer.pieces(row), row_values, strict=True
                )
            ],
        }
        for token, value, rank, entropy, row, row_values in zip(
            target, taken[:, 0].tolist(), ranks, entropies, ids.tolist(), best.tolist(), strict=True
        )
    ]


def pair_ids(translator: "Translator", asked: Pair) -> tuple[list[int], list[int]]:
    """Both sides with END, as models read them."""
    tokenizers = translator.tokenizers
    return (
        [*known(asked.source, tokenizers.source), END],
        [*known(asked.output, tokenizers.target), END],
    )


def maps_of(translator: "Translator", source: Sequence[int], target: Sequence[int]) -> Any:
    from regard.inspect.maps import attention_maps

    return attention_maps(translator.model, source, target)


def layer_map(run: OpenRun, asked: Layer) -> Tensor:
    """[h, rows, columns] of one layer."""
    with run.translator(asked.step) as translator:
        maps: Tensor = getattr(maps_of(translator, *pair_ids(translator, asked)), asked.kind)
        if asked.layer >= len(maps):
            raise RequestError(f"{asked.kind} attention has {len(maps)} layers; reload the page")
        return maps[asked.layer]
