"""The sentences that training validates on, for those who look at a finished run."""

from collections.abc import Iterator
from itertools import islice

from regard.checkpoint import Run
from regard.data.batch import Batch, batch_pairs
from regard.data.corpus import Pair
from regard.recipe import Recipe
from regard.text.tokenizer import END
from regard.training.prepare import Split, bounds, corpus, fitting, survey

ROWS = 16


def held_out_batches(run: Run, sentences: int) -> Iterator[Batch]:
    """The first so many of them, those of like length together. They are read from where training
    read them, since what it wrote beside its checkpoints may have been deleted.
    """
    recipe, tokenizers = run.recipe(), run.tokenizers()
    pairs = fitting(held_out_pairs(recipe), tokenizers, bounds(recipe))
    ids = [
        ([*tokenizers.source.encode(p.source), END], [*tokenizers.target.encode(p.target), END])
        for p in islice(pairs, sentences)
    ]
    ids.sort(key=lambda pair: len(pair[1]))
    for start in range(0, len(ids), ROWS):
        sources, targets = zip(*ids[start : start + ROWS], strict=True)
        yield batch_pairs(sources, targets)


def held_out_pairs(recipe: Recipe) -> Iterator[Pair]:
    split = Split.of(recipe, 0)
    if split.holds_out():
        split = Split.of(recipe, survey(corpus(recipe.data)).pairs)
    return split.valid()
