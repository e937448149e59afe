"""Language models: each token of a running text is predicted from the tokens before it."""

import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.configs.gpt import GPTConfig
from regard.configs.recurrent import RecurrentLanguageModelConfig
from regard.configs.work import Work
from regard.data.texts import read_documents
from regard.errors import DataError
from regard.evaluate.metrics import BITS_PER_CHARACTER, COUNTED_PAIRS, PERPLEXITY
from regard.planning.task_planning import Sizes as PlannedSizes
from regard.planning.task_planning import TaskPlanning
from regard.recipe import Recipe, parse_section
from regard.run import Run
from regard.tasks import running_text
from regard.tasks.checking import text_report
from regard.tasks.measuring import assumed_sizes, text_facts
from regard.tasks.running_text import Windows, require, streams
from regard.tasks.sections import (
    SampledTraining,
    TokenizerSection,
    WindowSection,
    check_embeddings,
    check_positions,
)
from regard.tasks.task import (
    Description,
    Evaluation,
    ScoreLine,
    Section,
    Sizes,
    Suggestion,
    Task,
    Test,
    TextQuestion,
)
from regard.tasks.text_sizes import suggest_for_text
from regard.training.events import Event, ExamplesReady

if TYPE_CHECKING:
    from torch import nn

    from regard.inspect.flow.parts import Flow
    from regard.inspect.maps import Maps
    from regard.tasks.embedder import Reader
    from regard.tasks.writer import Writer
    from regard.training.setup import TrainingSetup


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


def build(recipe: LanguageModelRecipe, sizes: Sizes) -> "nn.Module":
    from regard import models

    return models.build(recipe.model, sizes["inputs"], sizes["outputs"])


def setup(run: Run, recipe: LanguageModelRecipe) -> "Generator[Event, None, TrainingSetup]":
    from regard import objectives
    from regard.data.stream import CarriedState, TextExamples, WindowBatches
    from regard.evaluate import simple
    from regard.evaluate.running_text import HeldOutText
    from regard.tasks.embeddings import from_vectors
    from regard.training.setup import TrainingSetup

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
        beside=simple.counted_pairs(train.ids, valid.ids, len(tokenizer)),
        remark=f"vocabulary {len(tokenizer):,}",
    )


def load(folder: Path, device: str) -> "Writer":
    from regard.tasks.writer import Writer

    return Writer.load(folder, device)


def evaluate(run: Run, test: Test) -> Evaluation:
    files = test.without_search().files
    return scored(
        load(run.folder, test.device),
        documents(files, run.recipe_for("language-model").data.text),
        files,
    )


def documents(files: Sequence[Path], column: str | int) -> Iterator[str]:
    document: list[str] = []
    for text in read_documents(list(files), column):
        if text is not None:
            document.append(text)
            continue
        yield "".join(document)
        document = []


def scored(writer: "Writer", texts: Iterable[str], files: Sequence[Path]) -> Evaluation:
    """Loss, perplexity and bits per character of texts, each a document."""
    total, tokens, characters = 0.0, 0, 0
    for text in texts:
        found = writer.score(text)
        total -= sum(each.log_probability for each in found)
        tokens += len(found)
        characters += len(writer.tokenizer.normalise(text))
    if not tokens:
        where = f"{files[0]}: no text in it" if files else "evaluate: there is no text"
        raise DataError(f"{where}; give some to score")
    scores = {
        "loss": total / tokens,
        "perplexity": math.exp(min(100.0, total / tokens)),
        "bits/character": total / math.log(2) / max(1, characters),
    }
    return text_evaluation(files, tokens, scores)


def text_evaluation(files: Sequence[Path], tokens: int, scores: Mapping[str, float]) -> Evaluation:
    return Evaluation(
        headline=f"{', '.join(map(str, files))}{': ' * bool(files)}{tokens:,} tokens",
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


def look(writer: "Writer", asked: TextQuestion) -> Section:
    from regard.tasks.writer_view import look

    return look(writer, asked)


def attend(folder: Path, text: str, output: str | None, device: str) -> "tuple[Any, Maps]":
    from regard.tasks.attender import attend_writer

    return attend_writer(folder, text, output, device)


def reader(run: Run, device: str) -> "Reader":
    from regard.tasks.embedder import writing_reader

    return writing_reader(run, device)


def flow(writer: "Writer", asked: TextQuestion) -> "Flow":
    from regard.tasks.text_flow import writer_flow

    return writer_flow(writer, asked)


TASK = Task(
    name="language-model",
    recipe=LanguageModelRecipe,
    build=build,
    setup=setup,
    load=load,
    evaluate=evaluate,
    test_files="data",
    metrics=(PERPLEXITY, BITS_PER_CHARACTER, COUNTED_PAIRS),
    describe=describe,
    commands=commands,
    suggest=suggest,
    check=text_report,
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
    flow=flow,
    attend=attend,
    reader=reader,
    sizes_of_old_run=running_text.same_size,
)
