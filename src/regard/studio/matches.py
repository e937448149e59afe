"""Questions about runs that match images and texts: how well they fit, which parts of them make
them fit, and what is confused.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from regard.errors import RequestError
from regard.evaluate.matching import belong
from regard.inspect.matching import (
    Confusion,
    PairMaps,
    both_confusions,
    both_ways,
    on_patches,
    pair_maps,
    patches_of,
)
from regard.studio.images import reader_of, unpacked, validation
from regard.studio.requests import Asked, Compared, Paired
from regard.studio.runs import OpenRun

if TYPE_CHECKING:
    from regard.tasks.matcher import Matcher

# Validation images among which confusions are looked for, and how many are shown each way.
SEARCHED, SHOWN = 200, 6


def match(run: OpenRun, asked: Compared) -> dict[str, Any]:
    """The similarity of each image and each text, [images, texts], the probability of each text for
    an image and of each image for a text, and what similarities are multiplied by for them.
    """
    reader = reader_of(run, "match")
    pixels = np.stack([unpacked(each, reader) for each in asked.images])
    with run.opened(asked.step) as matcher:
        similarity = matcher.vectors_of(pixels) @ matcher.embed_texts(asked.texts).T
        scale = float(matcher.model.scale.detach())
    of_texts, of_images = both_ways(similarity, scale)
    return {
        "similarity": similarity.tolist(),
        "of_texts": of_texts.tolist(),
        "of_images": of_images.tolist(),
        "scale": scale,
    }


def pair(run: OpenRun, asked: Paired) -> dict[str, Any]:
    """Which patches and words make a text fit an image. All maps have the rows and columns of the
    patches that can be hidden.
    """
    pixels = unpacked(asked.pixels, reader_of(run, "match"))
    with run.opened(asked.step) as matcher:
        found: PairMaps = pair_maps(matcher, pixels, asked.text, asked.hidden)
        grid = patches_of(matcher, len(pixels))
        cells = matcher.model.encoder.grid
    return {
        **found.facts(),
        "grid": list(grid),
        "cells": list(cells),
        "parts": on_patches(found.parts, grid).tolist(),
        "rest": on_patches(found.rest, grid).tolist(),
    }


def confusions(run: OpenRun, asked: Asked) -> dict[str, Any]:
    """The worst confusions among some validation images and their texts."""
    reader_of(run, "match")
    with run.opened(asked.step) as matcher:
        if asked.step not in run.confusions:
            run.confusions[asked.step] = found_confusions(run, matcher)
        return run.confusions[asked.step]


def found_confusions(run: OpenRun, matcher: "Matcher") -> dict[str, Any]:
    found = validation(run)
    if found is None:
        raise RequestError(f"{run.folder}: the validation images are gone; compare your own")
    places = list(range(min(SEARCHED, len(found.part["rows"]))))
    vectors = [
        matcher.vectors_of(np.stack([found.square(place) for place in places[at : at + 64]]))
        for at in range(0, len(places), 64)
    ]
    texts = [(place, text) for place in places for text in found.texts(place)]
    said = [text for _, text in texts]
    similarity = torch.from_numpy(np.concatenate(vectors) @ matcher.embed_texts(said).T)
    numbers: dict[str, int] = {}
    same = np.array([numbers.setdefault(text, len(numbers)) for text in said])
    right = belong(np.array([place for place, _ in texts]), same, np.array(places))
    worst = both_confusions(similarity, right, SHOWN)

    def sides(each: Confusion, query: str, answer: str, names: Any, answers: Any) -> dict[str, Any]:
        return {
            query: names[each.query],
            f"right_{answer}": answers[each.right],
            f"wrong_{answer}": answers[each.wrong],
            "right": each.right_similarity,
            "wrong": each.wrong_similarity,
        }

    return {
        "images": len(places),
        "texts": len(said),
        "to_texts": [sides(each, "image", "text", places, said) for each in worst.to_texts],
        "to_images": [sides(each, "text", "image", said, places) for each in worst.to_images],
    }
