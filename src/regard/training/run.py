"""Trains a recipe into a folder and reports events. PyTorch is loaded when everything that can be
checked without it is right.
"""

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from regard import tasks
from regard.errors import DataError, RecipeError, RequestError, RunError
from regard.files import SCRATCH
from regard.machine.cores import wait_briefly
from regard.recipe import Recipe
from regard.run import Run
from regard.training import team
from regard.training.checks import checked, finished
from regard.training.events import Event, Note, Phase


def train(recipe: Recipe, out: Path | str) -> Run:
    """Train to the end; a run that is in the folder already is resumed."""
    for _ in training_run(recipe, Path(out)):
        pass
    return Run.open(out)


def training_run(recipe: Recipe, out: Path) -> Iterator[Event]:
    """Train a recipe into a folder. Ctrl-C and SIGTERM save at the next update and end the run.

    Closing the iterator saves nothing: the next start resumes from the last checkpoint. Of the
    processes that a launcher has started, the first reports what happens and the others are silent.
    """
    events = start(recipe, Run(out))
    if team.leads_here():
        yield from events
    else:
        deque(events, maxlen=0)


def start(recipe: Recipe, run: Run) -> Iterator[Event]:
    made = run.missing_folders()
    recipe = checked(recipe, run)
    if sentence := finished(run, recipe):
        if any(run.folder.glob(f"{SCRATCH}*")):  # of a process that was killed at the end
            with run.lock():
                run.sweep()
        yield Note(sentence)
        return
    make_folder(run)
    with run.lock() if team.leads_here() else nullcontext():
        started, before = run.recipe_path.exists(), set(run.folder.glob("*"))
        try:
            if team.leads_here():
                run.sweep()
                run.save_recipe(recipe)
            yield from learn(recipe, run)
        except (DataError, RecipeError, RequestError):
            # The next start, with corrected data or settings, prepares everything again.
            if team.leads_here() and not started and not run.checkpoints():
                run.forget(before, made)
            raise


def make_folder(run: Run) -> None:
    try:
        run.training.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(
            f"{run.folder}: cannot be made ({error.strerror}); choose another --out"
        ) from None


def learn(recipe: Recipe, run: Run) -> Iterator[Event]:
    yield Phase("Loading PyTorch")
    wait_briefly()
    from regard.training.learning import train_together

    # Other processes do not know a task that this program has added.
    processes = team.worthwhile(recipe.train) if tasks.entry(recipe.task).module else 1
    if processes > 1:
        yield Phase(f"Starting {processes} processes, which share each update")
    with team.assembled(command(run), processes) as members:
        yield from train_together(run, recipe, members)


def command(run: Run) -> list[str]:
    """The command that another process runs to take part."""
    return [
        *(sys.executable, "-m", "regard", "train"),
        *(str(run.recipe_path), "--out", str(run.folder)),
    ]
