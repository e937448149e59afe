"""Loads and scores any run, given its folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import tasks
from regard.run import Run

if TYPE_CHECKING:
    from regard.tasks.task import Evaluation


def load(folder: Path | str, device: str = "cpu") -> Any:
    """The object that answers with a run: a Translator, Writer, Filler, Classifier or Tagger, or
    what a task of your own loads.
    """
    run = Run.open(folder)
    return tasks.get(run.task_name()).load(run.folder, device)


def evaluate(
    folder: Path | str, files: Sequence[Path | str] = (), bootstrap: int = 1000
) -> "Evaluation":
    """Score a run on files it has not learned from. A translator takes two: sources, references."""
    from regard.tasks.task import Test

    run = Run.open(folder)
    test = Test(files=tuple(map(Path, files)), bootstrap=bootstrap)
    return tasks.get(run.task_name()).evaluate(run, test)
