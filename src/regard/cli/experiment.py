"""regard experiment: models trained under the same conditions, and a page on how they differ."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.options import AsJson, Reference, Settings, Source

if TYPE_CHECKING:
    from regard.compare.experiment import Experiment
    from regard.recipe import Recipe

RESAMPLES = 1000


def attention_matters(
    *,
    out: Path,
    corpus: str = "phrasebook-long",
    source: Source = None,
    reference: Reference = None,
    settings: Settings = (),
    as_json: AsJson = False,
) -> None:
    """Train without attention, with it, and a Transformer; compare them.

    The first two models are recurrent. All three see the same batches for the same number of
    updates. The same command resumes, and does not train a finished run again. Without files, they
    are compared on what all of them held out.

    Parameters
    ----------
    out
        A folder for the three runs, index.html, by-length.png, by-length.svg and comparison.json.
    corpus
        phrasebook-long, the long sentences of the built-in corpus, or multi30k.
    settings
        A setting for all recipes, like train.steps=2000. Repeat it for more settings.
    as_json
        Print the figures of comparison.json instead of a table.
    """
    from regard.cli.checks import check_room_for
    from regard.cli.display import say
    from regard.cli.training_screen import show_training
    from regard.compare.experiment import load_experiment

    check_test(source, reference)
    check_room_for(out)
    experiment = load_experiment("attention-matters", corpus, settings)
    from regard.training.run import training_run

    for name, recipe in experiment.recipes.items():
        folder = out / experiment.folders[name]
        if is_finished(folder, recipe):
            say(f"{name}: trained already, in {folder}.")
            continue
        say(f"\n{name}")
        show_training(training_run(recipe, folder), folder)
    write_outcome(experiment, out, (source, reference), as_json)


def check_test(source: Path | None, reference: Path | None) -> None:
    """Refuse wrong test files before hours of training."""
    from regard.cli.checks import check_inputs
    from regard.errors import UsageError

    if (source is None) != (reference is None):
        raise UsageError("--source and --reference belong together; give both, or neither")
    check_inputs(source, reference)


def is_finished(folder: Path, recipe: "Recipe") -> bool:
    from regard.run import Run
    from regard.training.checks import finished

    return bool(finished(Run(folder), recipe))


def write_outcome(
    experiment: "Experiment", out: Path, files: tuple[Path | None, Path | None], as_json: bool
) -> None:
    from regard.cli.display import SCREEN, results, say
    from regard.compare import measure, table
    from regard.compare.figure import save_by_length
    from regard.compare.page import page
    from regard.compare.runs import compare_on
    from regard.compare.sentences import common_test_set
    from regard.files import write_file
    from regard.run import Run

    runs = {name: Run.open(out / folder) for name, folder in experiment.folders.items()}
    test = common_test_set(list(runs.values()), *files)
    say("\nTranslating the test sentences …")
    found = compare_on(runs, test, experiment.sentence, None, RESAMPLES, "auto", SCREEN)
    comparison = found.comparison
    facts = json.dumps(measure.as_json(comparison), indent=2, ensure_ascii=False)
    text = page(
        comparison,
        title=experiment.title,
        about=experiment.about,
        sentence=experiment.sentence,
        looks=found.looks,
        resamples=RESAMPLES,
    )
    write_file(out / "comparison.json", facts.encode())
    write_file(out / "index.html", text.encode())
    for name in ("by-length.png", "by-length.svg"):
        save_by_length(comparison, out / name)
    results(facts if as_json else table.text(comparison, RESAMPLES))
    say(f"\nThe page: {out / 'index.html'}")
