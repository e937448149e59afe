"""Questions about runs that describe images: the caption of an image, its alternatives, and where
the model looks at each word.
"""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from regard.errors import RequestError
from regard.inspect.alternatives import alternatives
from regard.inspect.captions import (
    batch_of,
    difference,
    grid_attention,
    hidden_words,
    patches_of,
    piece_logits,
    seen_image,
    usual_weights,
    warning_of,
    word_heads,
    word_probabilities,
)
from regard.inspect.images.hiding import agreement, over_patches
from regard.inspect.images.looked import chosen_head
from regard.studio.endpoints import ALTERNATIVES, known, side
from regard.studio.images import reader_of, unpacked
from regard.studio.requests import Described
from regard.studio.runs import OpenRun

if TYPE_CHECKING:
    from regard.inspect.maps import Maps
    from regard.tasks.captioner import Captioner


@torch.inference_mode()
def caption(run: OpenRun, asked: Described) -> dict[str, Any]:
    """The best captions of an image, and of one of them the alternatives at each place, the
    probability of each word, and where the model looks. Maps have the rows and columns of the
    patches that can be hidden.
    """
    pixels = unpacked(asked.pixels, reader_of(run, "caption"))
    with run.opened(asked.step) as captioner:
        tokenizer = captioner.tokenizer
        seen = seen_image(captioner, pixels, asked.hidden)
        prefix = prefix_ids(captioner, asked)
        search = replace(captioner.search, n_best=captioner.search.beam_size)
        found = captioner.search_pixels(seen[None], search, prefix)[0]
        ids = known(asked.output, tokenizer) or found[0].ids
        end = tokenizer.specials.end
        logits = piece_logits(captioner, seen[None], ids)[0]
        steps = alternatives(logits, [*ids, end], tokenizer.vocabulary, ALTERNATIVES)
        maps = grid_attention(captioner.model, batch_of(seen[None]), ids, tokenizer)
        weights = shown_weights(captioner, maps, ids, asked)
        grid = patches_of(captioner, len(pixels))
        return {
            "outputs": [caption_facts(each) for each in found],
            "prefix": len(prefix),
            "output": side(tokenizer, ids),
            "steps": [asdict(each) for each in steps],
            "end": end,
            "probabilities": word_probabilities(captioner, seen[None], ids)[0].tolist(),
            "grid": list(grid),
            "cells": list(captioner.model.encoder.grid),
            "weights": over_patches(torch.from_numpy(weights), grid).tolist(),
            "heads": maps.heads["cross"],
            "difference": difference(weights),
            "warning": warning_of(weights),
        }


@torch.inference_mode()
def caption_hidden(run: OpenRun, asked: Described) -> dict[str, Any]:
    """By how much the probability of each word falls when a patch is hidden, and how well the map
    of each word tells so.
    """
    pixels = unpacked(asked.pixels, reader_of(run, "caption"))
    with run.opened(asked.step) as captioner:
        tokenizer = captioner.tokenizer
        ids = known(asked.output, tokenizer)
        if not ids:
            return {"hidden": [], "agreement": []}
        hidden = hidden_words(captioner, pixels, ids, asked.hidden)
        seen = seen_image(captioner, pixels, asked.hidden)
        maps = grid_attention(captioner.model, batch_of(seen[None]), ids, tokenizer)
        weights = shown_weights(captioner, maps, ids, asked)
        return {
            "hidden": hidden.tolist(),
            "agreement": [
                agreement(torch.from_numpy(own), torch.from_numpy(effect))
                for own, effect in zip(weights, hidden, strict=False)
            ],
        }


def prefix_ids(captioner: "Captioner", asked: Described) -> list[int]:
    tokenizer = captioner.tokenizer
    found = [*known(asked.prefix, tokenizer), *tokenizer.encode(asked.typed)]
    if len(found) > captioner.longest:
        raise RequestError(f"a caption has at most {captioner.longest} pieces; begin with fewer")
    return found


def shown_weights(
    captioner: "Captioner", maps: "Maps", ids: list[int], asked: Described
) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """[W, rows, columns] of cells, of the head that was asked for; none without attention"""
    usual = usual_weights(maps, ids, captioner)
    if asked.layer < 0 or not len(usual):
        return usual
    heads = word_heads(maps, ids, captioner)
    found = chosen_head(heads, asked.layer, None if asked.head < 0 else asked.head)
    return usual if found is None else found


def caption_facts(found: Any) -> dict[str, Any]:
    return {
        "ids": found.ids,
        "text": found.text,
        "score": found.score,
        "finished": found.finished,
    }
