"""The validation sentences of a finished run."""

from collections.abc import Iterator
from itertools import islice

from regard.data.batch import Batch, batches_of
from regard.data.corpus import Pair
from regard.run import Run
from regard.tasks.translation.pairs import (
    VALID_TEXTS,
    Split,
    bounds,
    corpus,
    fitting,
    read_texts,
    survey,
)
from regard.tasks.translation.recipe import TranslationRecipe

ROWS = 16


def held_out_batches(run: Run, sentences: int) -> Iterator[Batch]:
    """The first validation sentences, grouped by length. They are read from where training read
    them, since what it wrote beside its checkpoints may have been deleted.
    """
    recipe, tokenizers = run.recipe_for("translation"), run.tokenizers()
    pairs = fitting(held_out_pairs(recipe), tokenizers, bounds(recipe))
    return batches_of(islice(pairs, sentences), tokenizers, ROWS)


def held_out_pairs(recipe: TranslationRecipe) -> Iterator[Pair]:
    split = Split.of(recipe, 0)
    if split.holds_out():
        split = Split.of(recipe, survey(corpus(recipe.data)).pairs)
    return split.valid()


def held_out_texts(run: Run, recipe: TranslationRecipe) -> list[Pair]:
    """The pairs that training kept for translation, or else the same ones of its files."""
    kept = run.training / "data" / "valid.jsonl"
    if kept.exists():
        return read_texts(kept)
    pairs = fitting(held_out_pairs(recipe), run.tokenizers(), bounds(recipe))
    return list(islice(pairs, VALID_TEXTS))
