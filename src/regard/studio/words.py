"""Questions about the words of a run: a map of their vectors, and which are near each other."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.inspect.word_map import Projection
from regard.run import Run
from regard.studio.requests import Near, WordCount
from regard.studio.runs import OpenRun
from regard.tasks.neighbours import CONTINUES, WordVectors, named_rows

NEIGHBOURS = 12
# If a vocabulary has fewer whole words than this, its pieces are shown, too.
FEWEST_WORDS = 40


@dataclass(frozen=True)
class WordMap:
    """The words of a run, those that are shown, and the map that they are shown on."""

    vectors: WordVectors
    shown: NDArray[np.int64]
    projection: Projection


def map_of(run: OpenRun, step: int, count: int) -> WordMap:
    """The map of the most frequent words, kept from one question to the next."""
    with run.opened(step) as found:
        key = (step, count)
        if run.words is None or run.words[0] != key:
            words, rows = named_rows(Run(run.folder))
            vectors = WordVectors(found.model, words, rows)
            shown = np.array(whole_words(words)[:count])
            run.words = key, WordMap(vectors, shown, Projection.of(vectors.units[shown]))
        return run.words[1]


def whole_words(words: list[str]) -> list[int]:
    """The numbers of names that are words and not pieces of them, or of all if these are few."""
    whole = [
        number
        for number, word in enumerate(words)
        if len(word) > 1 and word.isalpha() and not word.startswith(CONTINUES)
    ]
    return whole if len(whole) >= FEWEST_WORDS else list(range(len(words)))


def word_map(run: OpenRun, asked: WordCount) -> dict[str, Any]:
    """Words with their places on the map, the most frequent first."""
    found = map_of(run, asked.step, asked.count)
    points = found.projection.points(found.vectors.units[found.shown])
    return {
        "words": [found.vectors.words[each] for each in found.shown],
        "points": points.tolist(),
        "share": found.projection.share,
        "total": len(found.vectors.words),
    }


def near(run: OpenRun, asked: Near) -> dict[str, Any]:
    """A word and its neighbours among all words, each with its place on the map."""
    found = map_of(run, asked.step, asked.count)
    vectors = found.vectors
    place = vectors.place(asked.word)
    others = vectors.nearest(vectors.units[place], [place], NEIGHBOURS)
    names = [vectors.words[place], *(each.word for each in others)]
    rows = np.array([vectors.place(name) for name in names])
    points = found.projection.points(vectors.units[rows]).tolist()
    similarities = [1.0, *(each.similarity for each in others)]
    return {
        "words": [
            {"word": word, "similarity": similarity, "point": point}
            for word, similarity, point in zip(names, similarities, points, strict=True)
        ]
    }
