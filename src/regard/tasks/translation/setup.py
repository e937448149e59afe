"""Prepares training on pairs."""

from collections.abc import Generator
from functools import partial
from pathlib import Path

from regard import objectives
from regard.data.batches import Batches
from regard.data.ids import IdPairs
from regard.data.noise import NoisyPairs, Rows
from regard.data.placeholders import PairsWithPlaceholders
from regard.data.switched import SwitchedPairs, WordLinks
from regard.errors import RunError
from regard.evaluate import simple
from regard.evaluate.pairs import HeldOutPairs
from regard.run import Run
from regard.tasks.embeddings import from_vectors
from regard.tasks.tokenizers import known_tokenizers
from regard.tasks.translation import pairs
from regard.tasks.translation.recipe import TranslationRecipe
from regard.text.tokenizer import Tokenizers
from regard.training.events import DataReady, Event, Note, Phase
from regard.training.setup import TrainingSetup


def setup(run: Run, recipe: TranslationRecipe) -> Generator[Event, None, TrainingSetup]:
    """Tokenizers and ids, made by this start or by an earlier one."""
    tokenizers = known_tokenizers(run, recipe)
    prepared = pairs.load_prepared(run, tokenizers) if tokenizers else None
    reports = None
    if prepared is None:
        yield Phase("Reading the pairs")
        yield from map(Note, pairs.remarks(recipe.data))
        count = pairs.survey(pairs.corpus(recipe.data)).pairs
        split = pairs.Split.of(recipe, count)
        if tokenizers is None:
            yield Phase(f"Learning the vocabulary from {count:,} pairs")
            tokenizers = pairs.learn_tokenizers(recipe, split)
            run.save_tokenizers(tokenizers)
        yield Phase("Encoding the pairs")
        reports = pairs.encode_pairs(run, recipe, split, tokenizers)
        prepared = pairs.load_prepared(run, tokenizers)
        if prepared is None:
            raise RunError(
                f"{run.training / 'data'}: the encoded pairs vanished while training started"
            )
    train, batch_tokens = prepared.train, recipe.train.batch_tokens
    batches = Batches(train.source_lengths, train.target_lengths, batch_tokens, recipe.seed)
    yield DataReady(
        train_pairs=len(train),
        valid_pairs=len(prepared.valid),
        padding=batches.padding(),
        train_report=reports[1] if reports else None,
        valid_report=reports[0] if reports else None,
    )
    if recipe.data.terms or recipe.data.placeholders:
        yield Phase("Finding the words that translate each other")
    examples = changed(train, prepared.tokenizers, run.training / "data", recipe)
    source, target = prepared.tokenizers
    texts = prepared.valid_pairs[: recipe.train.eval_sentences]
    return TrainingSetup(
        sizes={"inputs": len(source), "outputs": len(target)},
        examples=examples,
        batches=batches,
        objective=partial(objectives.translation, label_smoothing=recipe.train.label_smoothing),
        held_out=HeldOutPairs(prepared.valid, texts, source, target, batch_tokens),
        initialise=from_vectors(recipe.data, source),
        beside=simple.copied([each.source for each in texts], [each.target for each in texts]),
        remark=f"vocabulary {max(len(source), len(target)):,}",
    )


def changed(
    train: IdPairs, tokenizers: Tokenizers, folder: Path, recipe: TranslationRecipe
) -> Rows:
    """The training pairs, of which some change at every reading as the settings ask for."""
    data, longest = recipe.data, pairs.bounds(recipe).max_length
    found: Rows = train
    if data.terms or data.placeholders:
        links = WordLinks.of(train, tokenizers, folder)
        if data.terms:
            found = SwitchedPairs(links, data.terms, longest)
        if data.placeholders:
            found = PairsWithPlaceholders(found, links, tokenizers, data.placeholders, longest)
    if data.noise:
        found = NoisyPairs(found, tokenizers, data.noise, longest)
    return found
