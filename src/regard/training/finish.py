"""Finishes a run: validates the average of the last checkpoints, and writes the card."""

from collections.abc import Generator, Iterator
from pathlib import Path

import torch
from torch import Tensor

from regard import tasks
from regard.errors import RunError
from regard.training import card
from regard.training.events import Event, Finished, Note, Phase
from regard.training.judge import Judge, scores
from regard.training.state import part
from regard.weights import load_checkpoint, read_tensors


def finish(judge: Judge, last: dict[str, Tensor]) -> Iterator[Event]:
    """`last` are the weights of the last update, validated here if nothing was validated yet."""
    run, recipe, state = judge.run, judge.recipe, judge.state
    progress = state.progress
    if progress.best is None:
        yield Phase("Validating")
        yield judge.judge(last)
    paths = run.checkpoints()[-recipe.train.average :]
    sets = yield from readable(paths, "weight/" if state.average is None else "average/")
    if len(sets) > 1:
        yield Phase(f"Validating the average of the last {len(sets)} checkpoints")
        mean = averaged(sets)
        validation = judge.validate(mean, state.step)
        judge.log.write("average", state.step, {"checkpoints": len(sets), **scores(validation)})
        if judge.keep_if_better(validation, mean, averaged=len(sets)):
            # If the run continues with more steps, it must know the score of these weights.
            state.save(run, load_checkpoint(run, run.checkpoint_path(state.step))[0])
    kept = progress.best
    assert kept is not None  # it was set above at the latest
    if not kept.samples:
        yield Phase("Validating the best weights again, for samples")
        kept = judge.validate(read_tensors(run.model_path)[0], kept.step)
    lines: list[str] = []
    task = tasks.get(recipe.task)
    if (after_training := task.after_training) is not None:
        yield Phase(f"Measuring {task.measures}")
        # The best weights may be from an earlier step.
        with state.model_with(read_tensors(run.model_path)[0]) as model:
            lines = after_training(run, recipe, model, judge.setup.held_out)
    early = state.step < recipe.train.steps
    finished = Finished(run.folder, state.step, progress.seconds, kept, progress.averaged, early)
    yield Phase("Writing the card")
    card.write(run, recipe, finished, state, lines)
    yield finished


def readable(paths: list[Path], prefix: str) -> Generator[Event, None, list[dict[str, Tensor]]]:
    """Read the weights in checkpoints; report a damaged one and leave it out."""
    sets = []
    for path in paths:
        try:
            sets.append(part(read_tensors(path)[0], prefix))
        except RunError as error:
            yield Note(f"{error}; it is left out of the average", warning=True)
    return sets


def averaged(sets: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each tensor; the last value of an integer tensor."""
    return {
        name: torch.stack([tensors[name] for tensors in sets]).mean(0)
        if last.is_floating_point()
        else last
        for name, last in sets[-1].items()
    }
