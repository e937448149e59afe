"""The head of a trained model that aligns words best, found with pairs of its own data."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice

from regard.data.corpus import Pair
from regard.errors import DataError
from regard.inspect.alignments import Aligners, Example, WordPair, score_heads, silver_links
from regard.models import Model
from regard.recipe import Recipe
from regard.text.tokenizer import Tokenizers
from regard.training.prepare import bounds, corpus, fitting

SENTENCES = 100
# What Model 1 learns from: a few seconds' worth.
PAIRS = 10_000
WORD_PAIRS = 2_000_000


def find_aligners(
    recipe: Recipe, model: Model, tokenizers: Tokenizers, held_out: Iterable[Pair], sentences: int
) -> Aligners | None:
    """Heads compared on held-out pairs; None for a model that attends to no source."""
    compared = list(islice(fitting(held_out, tokenizers, bounds(recipe)), sentences))
    learned = [*word_pairs(compared, tokenizers)]
    room = WORD_PAIRS
    # A run goes on without the files it was trained on, and so does this.
    with suppress(DataError):
        for pair in word_pairs(islice(corpus(recipe.data), PAIRS), tokenizers):
            room -= len(pair.source) * len(pair.target)
            if room < 0:
                break
            learned.append(pair)
    silver = silver_links(learned, len(compared))
    training = model.training
    scores = score_heads(model.eval(), examples(compared, tokenizers), silver)
    model.train(training)
    return Aligners(scores, len(learned), len(compared)) if scores else None


def word_pairs(pairs: Iterable[Pair], tokenizers: Tokenizers) -> Iterable[WordPair]:
    for pair in pairs:
        yield WordPair(
            tokenizers.source.normalise(pair.source).split(),
            tokenizers.target.normalise(pair.target).split(),
        )


def examples(pairs: Sequence[Pair], tokenizers: Tokenizers) -> list[Example]:
    source, target = tokenizers
    sources = source.encode_batch([pair.source for pair in pairs])
    targets = target.encode_batch([pair.target for pair in pairs])
    closing, specials = source.specials.end, target.specials
    return [
        Example(
            source=[*s, closing],
            target=[*t, specials.end],
            source_word=[*source.word_of(s), -1],
            target_word=[*target.word_of(t), -1],
            start=specials.start,
        )
        for s, t in zip(sources, targets, strict=True)
    ]
