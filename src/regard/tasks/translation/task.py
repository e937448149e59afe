"""The task of translation. It loads without PyTorch."""

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.checks.report import Report
from regard.data.corpus import languages_in_header
from regard.data.pair_files import language_codes
from regard.errors import RequestError
from regard.evaluate.metrics import BLEU, CHRF, COPIED_BLEU, PERPLEXITY
from regard.run import Run
from regard.tasks.task import (
    DataFlags,
    Description,
    Evaluation,
    FineTuning,
    Section,
    Sizes,
    Suggestion,
    Task,
    Test,
)
from regard.tasks.translation.planning import PLANNING
from regard.tasks.translation.recipe import PairSection, TranslationRecipe

if TYPE_CHECKING:
    from torch import nn

    from regard.evaluate.validation import HeldOut
    from regard.inspect.maps import Maps
    from regard.tasks.embedder import Reader
    from regard.tasks.translation.translator import Translator
    from regard.training.events import Event
    from regard.training.setup import TrainingSetup


def build(recipe: TranslationRecipe, sizes: Sizes) -> "nn.Module":
    from regard import models

    return models.build(recipe.model, sizes["inputs"], sizes["outputs"])


def setup(run: Run, recipe: TranslationRecipe) -> "Generator[Event, None, TrainingSetup]":
    from regard.tasks.translation.setup import setup

    return setup(run, recipe)


def load(folder: Path, device: str) -> "Translator":
    from regard.tasks.translation.translator import Translator

    return Translator.load(folder, device)


def evaluate(run: Run, test: Test) -> Evaluation:
    from regard.tasks.translation.evaluate import evaluate

    return evaluate(run, test)


def describe(recipe: TranslationRecipe, run: Run | None) -> Description:
    codes, data, tokenizer = recipe.data.codes(), recipe.data, recipe.tokenizer
    between = f"{codes[0]} → {codes[1]}" if codes else "the two languages of its pairs"
    known = run.tokenizers() if run is not None and run.has_tokenizers() else None
    size = len(known.target) if known else tokenizer.vocabulary_size
    kind = "imported" if data.imported else tokenizer.kind
    vocabulary = f"{kind}, " + ("" if known else "up to ") + f"{size:,} pieces"
    info = run.info() if run is not None else {}
    return Description(
        what=f"A translator for {between}",
        data=data.shown(),
        columns=("source", "output", "reference"),
        facts={
            "languages": info.get("languages") or data.languages,
            "data": data.shown(),
            "vocabulary": vocabulary + (", joint" if tokenizer.joint else " a side"),
        },
        sizes={"inputs": len(known.source) if known else size, "outputs": size},
    )


def commands(recipe: TranslationRecipe) -> tuple[str, ...]:
    translate = 'regard translate {run} "…"'
    if recipe.data.builtin:
        return translate, "regard evaluate {run}"
    source, target = recipe.data.codes() or ("source", "target")
    return translate, f"regard evaluate {{run}} --source test.{source} --reference test.{target}"


def info(recipe: TranslationRecipe) -> Section:
    codes = recipe.data.codes()
    return {"languages": list(codes) if codes else None}


def after_training(
    run: Run, recipe: TranslationRecipe, model: "nn.Module", held_out: "HeldOut"
) -> list[str]:
    from regard.tasks.translation import alignment, calibrating

    aligned = alignment.after_training(run, recipe, model, held_out)
    return [*aligned, *calibrating.after_training(run, recipe, model)]


def data_section(flags: DataFlags) -> tuple[Section, str]:
    codes = flags.languages or language_codes(flags.train)
    if codes is None:
        paths = [Path(flags.folder or ".", path) for path in flags.train]
        codes = languages_in_header(paths, flags.columns)
    if codes is None:
        return flags.files(), "translator"
    return {**flags.files(), "languages": list(codes)}, "-".join(codes)


def suggest(data: Section, model: Mapping[str, Any], preset: str) -> Suggestion:
    from regard.tasks.translation.sizes import suggest

    return suggest(data, model, preset)


def check(data: PairSection) -> Report | None:
    from regard.tasks.translation.check import report

    return report(data)


def attend(
    folder: Path, text: str, output: str | None, device: str = "cpu"
) -> "tuple[Translator, Maps]":
    """The attention behind a translation: the model's own, unless another is given."""
    translator = load(folder, device)
    if not text.strip():
        raise RequestError("the text is empty; give a sentence to look at")
    target = output or translator.translations([text], translator.search)[0][0].ids
    return translator, translator.maps(text, target)


def reader(run: Run, device: str) -> "Reader":
    """The encoder as a reader of source sentences."""
    from regard.machine.devices import choose_device
    from regard.tasks.embedder import Reader, encoding
    from regard.weights import load_model

    recipe = run.recipe_for("translation")
    tokenizer = run.tokenizers().source
    model: Any = load_model(run).to(choose_device(device))
    return Reader(tokenizer, encoding(model, tokenizer), recipe.data.max_length - 1)


def sizes_of_old_run(run: Run) -> Sizes:
    tokenizers = run.tokenizers()
    return {"inputs": len(tokenizers.source), "outputs": len(tokenizers.target)}


TASK = Task(
    name="translation",
    recipe=TranslationRecipe,
    build=build,
    setup=setup,
    load=load,
    evaluate=evaluate,
    test_files="pairs",
    searches=True,
    metrics=(PERPLEXITY, BLEU, CHRF, COPIED_BLEU),
    describe=describe,
    commands=commands,
    info=info,
    after_training=after_training,
    measures="which attention head aligns words best, and how sure translations are",
    data_section=data_section,
    suggest=suggest,
    check=check,
    # A translator must also learn other words, not only what to do with them.
    fine_tuning=FineTuning(rate=0.125, shorter=2),
    planning=PLANNING,
    attend=attend,
    reader=reader,
    sizes_of_old_run=sizes_of_old_run,
)
