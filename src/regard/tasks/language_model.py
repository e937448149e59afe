"""Language models: each token of a running text is predicted from the tokens before it."""

import math
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from torch import nn

from regard import models, objectives
from regard.configs.gpt import GPTConfig
from regard.configs.recurrent import RecurrentLanguageModelConfig
from regard.configs.work import Work
from regard.data.stream import CarriedState, TextExamples, WindowBatches
from regard.data.texts import count_characters, read_documents
from regard.errors import DataError
from regard.evaluate.metrics import BITS_PER_CHARACTER, PERPLEXITY
from regard.evaluate.running_text import HeldOutText
from regard.planning.task_planning import Sizes as PlannedSizes
from regard.planning.task_planning import TaskPlanning
from regard.recipe import Recipe, parse_section
from regard.run import Run
from regard.tasks import running_text
from regard.tasks.attender import attend_writer
from regard.tasks.embedder import writing_reader
from regard.tasks.embeddings import from_vectors
from regard.tasks.measuring import assumed_sizes, text_facts
from regard.tasks.running_text import Windows, require, streams
from regard.tasks.sections import (
    SampledTraining,
    TokenizerSection,
    WindowSection,
    check_embeddings,
    check_positions,
)
from regard.tasks.suggestions import LENGTH, PIECES, paces, window
from regard.tasks.task import (
    Description,
    Evaluation,
    Reason,
    ScoreLine,
    Section,
    Sizes,
    Suggestion,
    Task,
    Test,
)
from regard.tasks.writer import Writer, look
from regard.training.events import Event, ExamplesReady
from regard.training.setup import TrainingSetup

# Up to this many characters: layers, d_model, heads, context, dropout, passes. The third row is
# nanoGPT's choice for a megabyte.
SIZES = (
    (400_000, 2, 128, 4, 128, 0.2, 25),
    (3_000_000, 4, 128, 4, 128, 0.1, 20),
    (30_000_000, 6, 256, 8, 256, 0.1, 8),
    (10**15, 8, 512, 8, 512, 0.1, 3),
)
# Text with fewer characters than this is learned character by character.
PIECES_PAY_FROM = 3_000_000
SHAPE = ("model.num_layers", "model.d_model", "model.cell")


class LanguageModelRecipe(Recipe):
    """A model that continues a text."""

    models: ClassVar = {"gpt": GPTConfig, "recurrent": RecurrentLanguageModelConfig}

    task: Literal["language-model"] = Field(
        default="language-model", description="What the model is for."
    )
    data: WindowSection
    tokenizer: TokenizerSection = TokenizerSection()
    model: GPTConfig | RecurrentLanguageModelConfig = Field(
        default_factory=dict,
        validate_default=True,
    )
    train: SampledTraining = SampledTraining()

    @model_validator(mode="after")
    def fits_together(self) -> Self:
        check_embeddings(self.data, self.tokenizer)
        if isinstance(self.model, GPTConfig) and self.model.positions == "learned":
            check_positions(self.model.max_positions, self.data.context, "data.context")
        return self


def build(recipe: LanguageModelRecipe, sizes: Sizes) -> nn.Module:
    return models.build(recipe.model, sizes["inputs"], sizes["outputs"])


def setup(run: Run, recipe: LanguageModelRecipe) -> Generator[Event, None, TrainingSetup]:
    data, train_section = recipe.data, recipe.train
    backward = data.direction == "backward"
    tokenizer, train, valid = yield from streams(run, recipe, verbatim=True, backward=backward)
    carrying = isinstance(recipe.model, RecurrentLanguageModelConfig)
    carried = CarriedState() if carrying else None
    require(train, data.context + 1, data, "train")
    require(valid, 2, data, "valid")
    batch_tokens = train_section.batch_tokens
    batches = WindowBatches(len(train), data.context, batch_tokens, recipe.seed, carrying)
    yield ExamplesReady(len(train), len(valid), "tokens", batches.padding())
    objective: Any = objectives.next_token_carried if carrying else objectives.next_token
    sampled = train_section.eval_sentences > 0 and not backward
    return TrainingSetup(
        sizes={"inputs": len(tokenizer), "outputs": len(tokenizer)},
        examples=TextExamples(train, data.context, carried),
        batches=batches,
        objective=partial(objective, label_smoothing=train_section.label_smoothing),
        held_out=HeldOutText(valid, tokenizer, data.context, carrying, sampled, batch_tokens),
        carried=carried,
        initialise=from_vectors(data, tokenizer),
        remark=f"vocabulary {len(tokenizer):,}",
    )


def evaluate(run: Run, test: Test) -> Evaluation:
    """Loss, perplexity and bits per character of running text."""
    files = test.without_search().files
    writer = Writer.load(run.folder, "auto")
    total, tokens, characters = 0.0, 0, 0
    document: list[str] = []
    for text in read_documents(list(files)):
        if text is not None:
            document.append(text)
            continue
        scored = writer.score("".join(document))
        total -= sum(each.log_probability for each in scored)
        tokens += len(scored)
        characters += len(writer.tokenizer.normalise("".join(document)))
        document = []
    if not tokens:
        raise DataError(f"{files[0]}: no text in it; give some to score")
    scores = {
        "loss": total / tokens,
        "perplexity": math.exp(min(100.0, total / tokens)),
        "bits/character": total / math.log(2) / max(1, characters),
    }
    return text_evaluation(files, tokens, scores)


def text_evaluation(files: Sequence[Path], tokens: int, scores: Mapping[str, float]) -> Evaluation:
    return Evaluation(
        headline=f"{', '.join(map(str, files))}: {tokens:,} tokens",
        scores=[ScoreLine(name, value) for name, value in scores.items()],
        facts={
            "test": [str(file) for file in files],
            "tokens": tokens,
            "scores": dict(scores),
            "intervals": {},
            "labels": [],
            "confusion": [],
        },
    )


def describe(recipe: LanguageModelRecipe, run: Run | None) -> Description:
    vocabulary, size = running_text.described_vocabulary(recipe, run)
    what = "A language model that continues a text"
    if recipe.data.direction == "backward":
        what = "A language model that reads a text backwards"
    return Description(
        what=what,
        data=recipe.data.shown(),
        columns=("beginning", "as the model continues", "as the text continues"),
        facts={"data": recipe.data.shown(), "vocabulary": vocabulary},
        sizes={"inputs": size, "outputs": size},
    )


def commands(recipe: LanguageModelRecipe) -> tuple[str, ...]:
    if recipe.data.direction == "backward":
        return ("regard score {run} < text.txt", "regard embed {run} < text.txt")
    return ('regard generate {run} "…"', "regard score {run} < text.txt")


def windows_of(recipe: LanguageModelRecipe) -> Windows:
    context = recipe.data.context
    return Windows(max(1, recipe.train.batch_tokens // context), context, context, context)


def work(recipe: LanguageModelRecipe, share: float, sizes: PlannedSizes) -> Work:
    return windows_of(recipe).work(share, reads=False)


def suggest(data: Section, asked: Mapping[str, Any], preset: str) -> Suggestion:
    section = parse_section(LanguageModelRecipe, "data", data, "command line")
    return suggest_for_text(data, section, asked)


def suggest_for_text(data: Section, section: Any, asked: Mapping[str, Any]) -> Suggestion:
    """Sizes for running text, also for a masked model, which asks for the kind "bert"."""
    characters = count_characters(read_documents(section.paths("train")))
    layers, d_model, heads, context, dropout, passes = next(
        row[1:] for row in SIZES if characters <= row[0]
    )
    if asked.get("kind") == "recurrent":
        # Shorter, since the state is carried from one window into the next.
        context = window(section, "context", context // 2, asked)
        model, rates, shape = recurrent_sizes(layers, d_model, dropout)
    else:
        context = window(section, "context", context, asked)
        model, rates, shape = gpt_sizes(layers, d_model, heads, dropout)
        model["max_positions"] = context
    by_character = characters <= PIECES_PAY_FROM
    tokens = characters if by_character else characters // 4
    batch_tokens = 2048 if by_character else 4096
    steps = max(200, min(passes * tokens // batch_tokens, 100_000))
    every = max(50, steps // 10)
    train = {"batch_tokens": batch_tokens, "label_smoothing": 0.0, "patience": 4, "average": 1}
    values = {
        "data": {"context": context, **data},
        "tokenizer": {
            "kind": "character" if by_character else "bpe",
            "vocabulary_size": 1000 if by_character else 8000,
        },
        "model": model,
        "train": {**paces(steps, min(200, steps // 10), every), **train, **rates},
    }
    pieces = "pieces of words are the tokens, up to 8,000 of them"
    if by_character:
        pieces = "characters are the tokens: there is too little text to learn words from"
    amount = f"{steps:,} updates of {batch_tokens:,} tokens: {steps * batch_tokens / tokens:.0f}"
    length = f"{amount} passes over the text, fewer when validation stops getting better"
    reasons = [
        Reason(f"{characters:,} characters: so"),
        Reason(f"{shape} {context:,} tokens at a time", SHAPE),
        Reason(pieces, PIECES),
        Reason(length, (*LENGTH, "tokenizer.kind")),
    ]
    return Suggestion(values, reasons)


def gpt_sizes(
    layers: int, d_model: int, heads: int, dropout: float
) -> tuple[Section, Section, str]:
    model = {
        "num_layers": layers,
        "d_model": d_model,
        "d_ff": 4 * d_model,
        "num_heads": heads,
        "dropout": dropout,
    }
    rate = 3e-3 if d_model <= 128 else 1e-3
    rates = {"optimizer": "adamw", "learning_rate": rate, "weight_decay": 0.1}
    return model, rates, f"{layers} layers of width {d_model} that see"


def recurrent_sizes(layers: int, d_model: int, dropout: float) -> tuple[Section, Section, str]:
    """About as many parameters as a GPT has, in fewer and wider layers."""
    layers, d_model = min(2, layers // 2), 2 * d_model
    model = {
        "kind": "recurrent",
        "num_layers": layers,
        "d_model": d_model,
        "dropout": round(dropout + 0.1, 1),
    }
    rates = {"learning_rate": 3e-3 if d_model <= 256 else 1e-3}
    shape = f"{layers} LSTM layers" if layers > 1 else "an LSTM"
    return model, rates, f"{shape} of width {d_model} that see{'s' * (layers == 1)}"


TASK = Task(
    name="language-model",
    recipe=LanguageModelRecipe,
    build=build,
    setup=setup,
    load=Writer.load,
    evaluate=evaluate,
    test_files="data",
    metrics=(PERPLEXITY, BITS_PER_CHARACTER),
    describe=describe,
    commands=commands,
    suggest=suggest,
    planning=TaskPlanning(
        facts=text_facts(
            running_text.measured, partial(running_text.learned_tokenizers, True), assumed_sizes
        ),
        work=work,
        padded_work=work,
        counted_tokens=lambda recipe, work: work.source_tokens + work.target_tokens,
        examples="text",
        batch=lambda recipe, tokens: windows_of(recipe).batch(tokens / recipe.train.batch_tokens),
        gradient_beside=True,
        has_lengths=False,
    ),
    look=look,
    attend=attend_writer,
    reader=writing_reader,
    sizes_of_old_run=running_text.same_size,
)
