"""Word vectors: words that are used alike get similar vectors."""

import math
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from regard.configs.word_vectors import CbowConfig, SkipGramConfig
from regard.data.texts import document_remarks
from regard.errors import DataError
from regard.files import write_file
from regard.recipe import Recipe, Share, TrainSection, parse_section
from regard.run import Run
from regard.tasks.checking import text_report
from regard.tasks.neighbours import WordVectors
from regard.tasks.running_text import TextSplit
from regard.tasks.sections import FilesSection
from regard.tasks.task import (
    Description,
    Evaluation,
    FineTuning,
    Section,
    Sizes,
    Suggestion,
    Task,
    Test,
)
from regard.tasks.word_sizes import PLANNING, known_words, learned_words, suggest_for_words
from regard.text.word_vocabulary import WordVocabulary, vocabulary_file
from regard.training.events import Event, ExamplesReady, Note, Phase

if TYPE_CHECKING:
    from torch import nn

    from regard.data.stream import Stream
    from regard.data.word_pairs import WordExamples
    from regard.evaluate.validation import HeldOut, Sample
    from regard.tasks.embedder import Reader
    from regard.training.setup import TrainingSetup

MOST_NEIGHBOURS_SHOWN = 6


class CorpusSection(FilesSection):
    """Running text, and which of its words are neighbours."""

    text: str | int = Field(
        default="", description="The column of the text in a table: a name, or a number from 1."
    )
    lowercase: bool = Field(default=True, description="Whether capitals are read as small letters.")
    min_count: int = Field(
        default=5, ge=1, description="Words that occur fewer times get no vector."
    )
    vocabulary_size: int = Field(
        default=100_000, ge=2, le=1_000_000, description="Most words; the most frequent are taken."
    )
    window: int = Field(
        default=10,
        ge=1,
        le=100,
        description="How many words away neighbours may be; near ones count more.",
    )
    subsample: float = Field(
        default=1e-4,
        ge=0,
        le=1,
        description="Words with a larger share of the text are left out now and then; 0 = never.",
    )


class WordTraining(TrainSection):
    """Training on batches of words and their neighbours."""

    optimizer: Literal["adam", "adamw", "rowwise"] = Field(
        default="rowwise",
        description="What turns gradients into updates; rowwise: with one moment for each row.",
    )
    adam_betas: tuple[Share, Share] = Field(
        default=(0.0, 0.999), description="How slowly Adam's two moments change."
    )
    learning_rate: float = Field(default=0.03, gt=0, description="The highest learning rate.")
    schedule: Literal["inverse_sqrt", "cosine", "linear", "constant"] = Field(
        default="linear", description="How the learning rate falls after the warm-up."
    )
    warmup_steps: int = Field(
        default=0, ge=0, description="Updates over which the learning rate rises."
    )
    average: int = Field(
        default=1,
        ge=1,
        description="Last checkpoints averaged at the end; used if they score better.",
    )
    batch_tokens: int = Field(
        default=16384,
        ge=1,
        description="Words of a batch, before frequent ones are left out.",
    )
    negatives: float = Field(
        default=5.0, gt=0, le=1000, description="Random words that weigh as much as one neighbour."
    )


class WordVectorsRecipe(Recipe):
    """A vector for each word of a text."""

    models: ClassVar = {"skip-gram": SkipGramConfig, "cbow": CbowConfig}

    task: Literal["word-vectors"] = Field(
        default="word-vectors", description="What the model is for."
    )
    data: CorpusSection
    model: SkipGramConfig | CbowConfig = Field(default_factory=dict, validate_default=True)
    train: WordTraining = WordTraining()


def build(recipe: WordVectorsRecipe, sizes: Sizes) -> "nn.Module":
    from regard.models.word_vectors import WordVectorsModel

    return WordVectorsModel(recipe.model, sizes["inputs"])


def setup(run: Run, recipe: WordVectorsRecipe) -> "Generator[Event, None, TrainingSetup]":
    from regard.data.stream import WindowBatches
    from regard.evaluate.word_vectors import HeldOutWords
    from regard.objectives import word_neighbours
    from regard.training.setup import TrainingSetup

    train_section = recipe.train
    vocabulary, train, valid = yield from encoded(run, recipe)
    examples = examples_of(train, vocabulary, recipe)
    batch_tokens = train_section.batch_tokens
    batches = WindowBatches(len(train), examples.passage, batch_tokens, recipe.seed)
    yield ExamplesReady(len(train), len(valid), "words", batches.padding())
    negatives = train_section.negatives
    return TrainingSetup(
        sizes={"inputs": len(vocabulary), "outputs": len(vocabulary)},
        examples=examples,
        batches=batches,
        objective=partial(word_neighbours, negatives=negatives),
        held_out=HeldOutWords(
            examples_of(valid, vocabulary, recipe),
            negatives,
            batch_tokens,
            partial(samples, vocabulary),
        ),
        remark=f"{len(vocabulary):,} words",
    )


def encoded(
    run: Run, recipe: WordVectorsRecipe
) -> "Generator[Event, None, tuple[WordVocabulary, Stream, Stream]]":
    """The vocabulary and both texts, made by this start or by an earlier one."""
    from regard.data.stream import Stream
    from regard.data.word_pairs import write_words

    data, folder = recipe.data, run.training / "data"
    if not vocabulary_file(run.folder).exists() or not run.has_data():
        yield Phase("Reading the text")
        files = [*data.paths("train"), *data.paths("valid")]
        yield from map(Note, document_remarks(files, data.text))
        split = TextSplit.of(data)
        if not vocabulary_file(run.folder).exists():
            yield Phase("Counting the words")
            vocabulary = learned(recipe, split)
            write_file(vocabulary_file(run.folder), vocabulary.to_tsv().encode())
        vocabulary = WordVocabulary.load(vocabulary_file(run.folder))
        yield Phase("Encoding the text")
        write_words(split.valid(), vocabulary, folder, "valid")
        write_words(split.train(), vocabulary, folder, "train")
    vocabulary = WordVocabulary.load(vocabulary_file(run.folder))
    train, valid = (Stream.open(folder, name) for name in ("train", "valid"))
    for stream, name in ((train, "learn from"), (valid, "validate on")):
        if len(stream) < 2:
            raise DataError(
                f"{data.paths('train')[0]}: the text to {name} has {len(stream)} of its words; "
                "give more text, or lower data.min_count"
            )
    return vocabulary, train, valid


def learned(recipe: WordVectorsRecipe, split: TextSplit) -> WordVocabulary:
    """The words of the text, or those of the run that training starts from."""
    data = recipe.data
    if recipe.train.from_run:
        return WordVocabulary.load(vocabulary_file(Run.open(recipe.train.from_run).folder))
    found = learned_words(data, split)
    if len(found) < 2:
        raise DataError(
            f"{data.paths('train')[0]}: {len(found)} words occur {data.min_count} times or more; "
            "give more text, or lower data.min_count"
        )
    return found


def examples_of(
    stream: "Stream", vocabulary: WordVocabulary, recipe: WordVectorsRecipe
) -> "WordExamples":
    from regard.data.word_pairs import WordExamples

    data = recipe.data
    return WordExamples.of(stream, vocabulary.counts, data.window, data.subsample)


def samples(vocabulary: WordVocabulary, model: "nn.Module") -> "tuple[Sample, ...]":
    """Some words with those nearest to them."""
    from regard.evaluate.validation import Sample
    from regard.evaluate.word_vectors import SHOWN

    vectors = WordVectors(model, vocabulary.words)
    long = [place for place, word in enumerate(vocabulary.words) if len(word) > 3] or [0]
    places = [long[rank] for rank in SHOWN if rank < len(long)] or long[:1]
    return tuple(
        Sample(
            vocabulary.words[place],
            f"{vocabulary.counts[place]:,}",
            ", ".join(
                each.word
                for each in vectors.neighbours(vocabulary.words[place], MOST_NEIGHBOURS_SHOWN)
            ),
        )
        for place in places
    )


def evaluate(run: Run, test: Test) -> Evaluation:
    from regard.tasks.word_evaluation import evaluate

    return evaluate(run, test)


def after_training(
    run: Run, recipe: WordVectorsRecipe, model: "nn.Module", held_out: "HeldOut"
) -> list[str]:
    return [f"- For comparison: vectors that know nothing have a loss of {ignorance(recipe):.3f}."]


def ignorance(recipe: WordVectorsRecipe) -> float:
    """The loss where every two words fit as well as not."""
    return (1 + recipe.train.negatives) * math.log(2)


def describe(recipe: WordVectorsRecipe, run: Run | None) -> Description:
    known = known_words(run)
    size = known or recipe.data.vocabulary_size
    return Description(
        what="Vectors of words",
        data=recipe.data.shown(),
        columns=("word", "nearest words", "occurrences"),
        facts={
            "data": recipe.data.shown(),
            "vocabulary": f"{'' if known else 'up to '}{size:,} words",
        },
        sizes={"inputs": size, "outputs": size},
    )


def commands(recipe: WordVectorsRecipe) -> Sequence[str]:
    return (
        "regard neighbours {run} king",
        "regard neighbours {run} king - man + woman",
        "regard evaluate {run} --data wordsim353.tsv",
    )


def suggest(data: Section, asked: Mapping[str, Any], preset: str) -> Suggestion:
    section = parse_section(WordVectorsRecipe, "data", data, "command line")
    return suggest_for_words(data, section)


def reader(run: Run, device: str) -> "Reader":
    from regard.tasks.embedder import word_reader

    return word_reader(run, device)


def load(folder: Path, device: str) -> WordVectors:
    Run.open(folder).recipe_for("word-vectors")
    return WordVectors.load(folder, device)


TASK = Task(
    name="word-vectors",
    recipe=WordVectorsRecipe,
    build=build,
    setup=setup,
    load=load,
    evaluate=evaluate,
    test_files="data",
    unit="words",
    describe=describe,
    commands=commands,
    after_training=after_training,
    suggest=suggest,
    check=text_report,
    fine_tuning=FineTuning(rate=1.0, shorter=2),
    planning=PLANNING,
    reader=reader,
)
