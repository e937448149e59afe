"""Describes a finished run: run.json for programs, README.md for people."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from regard import tasks
from regard.evaluate.metrics import format_scores
from regard.evaluate.validation import Sample, Validation
from regard.files import write_file
from regard.recipe import Recipe
from regard.run import Run, commands_for
from regard.small_files import read_small
from regard.training.events import Finished

if TYPE_CHECKING:
    from regard.training.state import TrainingState

# The task's lines are inserted before the line that begins like this.
RECIPE = "- `recipe.toml`"


def write(
    run: Run,
    recipe: Recipe,
    finished: Finished,
    state: "TrainingState",
    lines: list[str],
) -> None:
    """Write the card, and then run.json, which marks the run as finished."""
    import torch

    validation, progress = finished.validation, state.progress
    parameters = sum(parameter.numel() for parameter in state.model.parameters())
    weights = (
        f"the average of the last {finished.averaged} checkpoints"
        if finished.averaged
        else f"those of step {validation.step:,}"
    )
    training = (
        f"{finished.step:,} updates in {finished.seconds / 60:.1f} minutes;\n"
        f"  the weights are {weights}."
    )
    write_page(run, text(run, recipe, training, validation, parameters, lines))
    info = {
        "regard": version("regard"),
        "torch": torch.__version__,
        "machine": f"{platform.machine()}, {torch.get_num_threads()} threads",
        "task": recipe.task,
        **tasks.get(recipe.task).info(recipe),
        "parameters": parameters,
        "step": finished.step,
        "seconds": round(finished.seconds, 1),
        "tokens": progress.tokens,
        "skipped_updates": progress.skipped,
        "averaged_checkpoints": finished.averaged,
        "stopped_early": finished.early,
        "stale_validations": progress.stale,
        "validation": {"loss": validation.loss, **validation.scores},
    }
    run.save_info(info)


def write_stopped(run: Run, recipe: Recipe, state: "TrainingState") -> None:
    """Write the card of a training that was stopped."""
    best, seconds = state.progress.best, state.progress.seconds
    parameters = sum(parameter.numel() for parameter in state.model.parameters())
    training = (
        f"stopped at update {state.step:,} of {recipe.train.steps:,} after {seconds / 60:.1f} "
        "minutes;\n  the same command resumes it. "
        + (f"The weights are those of step {best.step:,}." if best else "There are no weights yet.")
    )
    write_page(run, text(run, recipe, training, best, parameters, []))


def write_page(run: Run, page: str) -> None:
    write_file(run.folder / "README.md", page.encode("utf-8", "replace"))


def text(
    run: Run,
    recipe: Recipe,
    training: str,
    validation: Validation | None,
    parameters: int,
    lines: list[str],
) -> str:
    """The model card. `training` says how long it took and what the weights are."""
    task = tasks.get(recipe.task)
    described = task.describe(recipe, None)
    data = described.data
    sources = f" on: {data if isinstance(data, str) else ', '.join(data)}" if data else ""
    if validation is not None:
        scores = [f"loss {validation.loss:.3f}", *format_scores(validation.scores, task.metrics)]
        lines = [f"- Validation: {', '.join(scores)}.", *lines]
        if sentence := task.verdict(validation.scores):
            lines.append(f"- **{sentence}**")
    measured = "".join(f"{line}\n" for line in lines)
    table = sample_table(described.columns, validation.samples if validation else ())
    commands = "\n".join(f"    {line}" for line in commands_for(recipe, run.folder))
    return f"""# {run.folder.name}

{described.what}, trained by regard {version("regard")}{sources}.

- Model: {summary(recipe)};
  {parameters:,} parameters.
- Training: {training}
{measured}- `recipe.toml` repeats the run; `log.jsonl` holds what happened.

{table}It knows what its training data showed it. Check what it says before you rely on it.

{commands}
"""


def replace_line(run: Run, beginning: str, line: str) -> None:
    """Put a line into the card, in place of the line that begins like it."""
    path = run.folder / "README.md"
    try:
        lines = read_small(path).decode().split("\n")
    except (OSError, UnicodeDecodeError):
        return  # the user has removed or rewritten the card
    kept = [each for each in lines if not each.startswith(beginning)]
    place = next((i for i, each in enumerate(kept) if each.startswith(RECIPE)), None)
    if place is not None:
        kept.insert(place, line)
        write_file(path, "\n".join(kept).encode())


def summary(recipe: Recipe) -> str:
    """The model in a few words."""
    model = recipe.model
    return str(model.summary()) if hasattr(model, "summary") else type(model).__name__


def sample_table(columns: Sequence[str], samples: Sequence[Sample]) -> str:
    """Validation samples with an empty line after them; nothing if there are none."""
    if not samples:
        return ""
    head = [f"| {' | '.join(columns)} |", "|---|---|---|"]
    rows = [f"| {cell(s.source)} | {cell(s.output)} | {cell(s.reference)} |" for s in samples]
    return "\n".join([*head, *rows]) + "\n\n"


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
