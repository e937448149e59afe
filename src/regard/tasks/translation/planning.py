"""The planning functions for pairs of sentences."""

from dataclasses import replace
from itertools import islice

from regard.configs.work import Work
from regard.planning.task_planning import PIECES, DataFacts, Sizes, TaskPlanning
from regard.tasks.measuring import (
    FULL,
    SAMPLE,
    assumed_sizes,
    learned_share,
    pieces_of_a_word,
    text_facts,
)
from regard.tasks.translation.pairs import Split, corpus, learn_tokenizers, survey
from regard.tasks.translation.recipe import TranslationRecipe
from regard.text.tokenizer import Tokenizers


def measured(
    recipe: TranslationRecipe, found: DataFacts, tokenizers: Tokenizers | None
) -> DataFacts:
    pairs = survey(corpus(recipe.data))
    if not pairs.pairs:
        return found
    word = PIECES
    if tokenizers is not None:
        sample = list(islice(corpus(recipe.data), SAMPLE))
        sides = [pair.source for pair in sample], [pair.target for pair in sample]
        word = sum(map(pieces_of_a_word, tokenizers, sides)) / 2
    length = 1 + word * pairs.words / (2 * pairs.pairs)
    learned = pairs.pairs * learned_share(recipe.data, pairs.pairs)
    if recipe.data.weights:
        learned = survey(Split.of(recipe, pairs.pairs).train()).pairs
    tokens = 2 * length * learned
    return replace(found, sizes=replace(found.sizes, sentence=length, word=word), tokens=tokens)


def learned(recipe: TranslationRecipe) -> Tokenizers:
    count = sum(1 for _ in corpus(recipe.data))
    return learn_tokenizers(recipe, Split.of(recipe, count))


def work(recipe: TranslationRecipe, share: float, sizes: Sizes) -> Work:
    full = FULL * recipe.train.batch_tokens * share
    return Work(full, full, sizes.sentence, sizes.sentence)


def padded_work(recipe: TranslationRecipe, share: float, sizes: Sizes) -> Work:
    full = recipe.train.batch_tokens * share
    return Work(full, full, sizes.sentence, sizes.sentence)


PLANNING = TaskPlanning(
    facts=text_facts(measured, learned, assumed_sizes),
    work=work,
    padded_work=padded_work,
    counted_tokens=lambda recipe, work: work.source_tokens + work.target_tokens,
    examples="pairs",
    batch=lambda recipe, tokens: f"{tokens:,.0f} tokens a side",
    gradient_beside=True,
)
