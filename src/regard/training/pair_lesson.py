"""Translation: pairs of sentences."""

from collections.abc import Generator

from regard import objectives
from regard.checkpoint import Run
from regard.data.batches import Batches
from regard.errors import RunError
from regard.evaluate.pairs import HeldOutPairs
from regard.recipe import Recipe
from regard.training import prepare
from regard.training.events import DataReady, Event, Note
from regard.training.lesson import Lesson


def pair_lesson(run: Run, recipe: Recipe) -> Generator[Event, None, Lesson]:
    """Tokenizers and ids, made by this start or by an earlier one."""
    tokenizers = prepare.known_tokenizers(run, recipe)
    prepared = prepare.load_prepared(run, tokenizers) if tokenizers else None
    reports = None
    if prepared is None:
        yield Note("Reading the pairs …")
        pairs = prepare.survey(prepare.corpus(recipe.data)).pairs
        split = prepare.Split.of(recipe, pairs)
        if tokenizers is None:
            yield Note(f"Learning the vocabulary from {pairs:,} pairs …")
            tokenizers = prepare.learn_tokenizers(recipe, split)
            run.save_tokenizers(tokenizers)
        yield Note("Encoding the pairs …")
        reports = prepare.encode_pairs(run, recipe, split, tokenizers)
        prepared = prepare.load_prepared(run, tokenizers)
        if prepared is None:
            raise RunError(
                f"{run.training / 'data'}: the encoded pairs vanished while training began"
            )
    train = prepared.train
    batches = Batches(
        train.source_lengths, train.target_lengths, recipe.train.batch_tokens, recipe.seed
    )
    yield DataReady(
        train_pairs=len(train),
        valid_pairs=len(prepared.valid),
        padding=batches.padding(),
        train_report=reports[1] if reports else None,
        valid_report=reports[0] if reports else None,
    )
    source, target = prepared.tokenizers
    texts = prepared.valid_pairs[: recipe.train.eval_sentences]
    return Lesson(
        inputs=len(source),
        outputs=len(target),
        examples=train,
        batches=batches,
        objective=objectives.translation,
        held_out=HeldOutPairs(prepared.valid, texts, source, target),
    )
