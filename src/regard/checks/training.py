"""The check before a training: what cannot be meant stops it, before PyTorch is loaded."""

import os
from pathlib import Path
from typing import Any

from regard import tasks
from regard.checks.report import Finding, Report
from regard.errors import DataError
from regard.recipe import Recipe
from regard.run import Run
from regard.text.languages import base_code


def before_training(recipe: Recipe, out: Path, override: str) -> Report | None:
    """Look at the data of a recipe; a DataError says in a sentence what cannot be meant, and that
    `override` trains all the same.
    """
    report = look_before_training(recipe, out)
    if report is not None and report.wrong:
        raise refusal(report, override)
    return report


def refusal(report: Report, override: str) -> DataError:
    """The first error in a sentence, and how to train all the same."""
    first, *others = report.of("error")
    if first.code == "unreadable":
        return DataError(first.sentence)
    more = f" ({len(others)} more: `regard check` shows all)" if others else ""
    return DataError(f"{first}{more}; if it is meant, train with {override}")


def look_before_training(recipe: Recipe, out: Path) -> Report | None:
    """What is to be seen on the data; None for a run that has started, for a task without a check,
    and in a process that only takes part.
    """
    if Run(out).recipe_path.exists() or os.environ.get("RANK", "0") != "0":
        return None
    return check_recipe(recipe)


def check_recipe(recipe: Recipe) -> Report | None:
    """What is to be seen on a recipe's data, and on the run that it starts from."""
    any_recipe: Any = recipe
    report = tasks.get(recipe.task).check(getattr(any_recipe, "data", None))
    finding = other_direction(recipe)
    if finding is None or report is None:
        return report
    return Report(
        report.kind, report.files, report.facts, (finding, *report.findings), report.samples
    )


def other_direction(recipe: Recipe) -> Finding | None:
    """A run to start from that has learned the opposite."""
    folder = recipe.train.from_run
    if not folder or not Run(Path(folder)).recipe_path.exists():
        return None
    learned = Run(Path(folder)).info().get("languages")
    wanted = tasks.get(recipe.task).info(recipe).get("languages")
    if not learned or not wanted or not all((*learned, *wanted)):
        return None
    there, here = ([base_code(code) for code in codes] for codes in (learned, wanted))
    if there == here or sorted(there) != sorted(here):
        return None
    return Finding(
        "direction",
        "error",
        f"{folder} translates {' → '.join(learned)}, and these pairs are {' → '.join(wanted)}",
        "give the files in the other order, or start from another run",
    )
