"""The head of a trained model that aligns words best, found with pairs of its own data."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from regard.data.corpus import Pair
from regard.data.pair_filter import PairFilter
from regard.errors import DataError, RequestError, RunError
from regard.inspect.alignments import Aligners, Example, WordPair, score_heads, silver_links
from regard.machine.devices import choose_device
from regard.models import Model
from regard.reporter import SILENT, Reporter
from regard.run import Run
from regard.tasks.translation.heads import keep
from regard.tasks.translation.held_out import held_out_pairs
from regard.tasks.translation.pairs import bounds, corpus, fitting
from regard.tasks.translation.recipe import TranslationRecipe, recipe_of
from regard.text.tokenizer import Tokenizers
from regard.training.card import replace_line
from regard.weights import load_model

SENTENCES = 100
# Model 1 learns from at most this much data, in a few seconds.
PAIRS = 10_000
WORD_PAIRS = 2_000_000
# The beginning of the line of the card.
LINE = "- Alignment: "


def find_aligners(
    recipe: TranslationRecipe,
    model: Model,
    tokenizers: Tokenizers,
    held_out: Iterable[Pair],
    sentences: int,
) -> Aligners | None:
    """Compare the heads on validation pairs; None for a model that attends to no source."""
    compared = list(islice(fitting(held_out, tokenizers, bounds(recipe)), sentences))
    learned = [*word_pairs(compared, tokenizers)]
    room = WORD_PAIRS
    # A run works without the files it was trained on, and so does this.
    with suppress(DataError):
        for pair in word_pairs(islice(short_enough(recipe), PAIRS), tokenizers):
            room -= len(pair.source) * len(pair.target)
            if room < 0:
                break
            learned.append(pair)
    silver = silver_links(learned, len(compared))
    training = model.training
    scores = score_heads(model.eval(), examples(compared, tokenizers), silver)
    model.train(training)
    return Aligners(scores, len(learned), len(compared)) if scores else None


def rank_aligners(
    run: Path | str,
    sentences: int = SENTENCES,
    device: str = "cpu",
    reporter: Reporter = SILENT,
) -> Aligners:
    """Rank the heads of a run by how well they align words, and keep the ranking in the run and its
    card, where these can be written to.
    """
    opened = Run.open(run)
    recipe = recipe_of(opened)
    model: Any = load_model(opened).to(choose_device(device))
    reporter.say("Aligning words by IBM Model 1, then by every head …")
    pairs = held_out_pairs(recipe)
    found = find_aligners(recipe, model, opened.tokenizers(), pairs, sentences)
    if found is None:
        raise RequestError(f"{run}: this model attends to no source; train one that does")
    keep(opened, "alignment", asdict(found), reporter)
    with suppress(RunError):
        replace_line(opened, LINE, f"{LINE}{found.summary()}.")
    return found


def after_training(run: Run, recipe: TranslationRecipe, model: Any, held_out: Any) -> list[str]:
    """Measure the heads of a trained model on the pairs that it was validated with."""
    found = find_aligners(recipe, model, run.tokenizers(), held_out.pairs, SENTENCES)
    if found is None:
        return []
    run.save_finding("alignment", asdict(found))
    return [f"{LINE}{found.summary()}."]


def short_enough(recipe: TranslationRecipe) -> Iterable[Pair]:
    """The training pairs without those that are too long to be learned."""
    pair_filter = PairFilter(recipe.data.max_length, recipe.data.max_ratio)
    return (pair for pair in corpus(recipe.data) if not pair_filter.too_long_to_encode(pair))


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
