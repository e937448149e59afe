"""Runs the updates of training, with logging, validation and checkpoints."""

import signal
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from regard.errors import RunError
from regard.recipe import Recipe
from regard.run import Run
from regard.training import card
from regard.training.events import Event, Interrupted, Phase, Saved, StepReport
from regard.training.judge import Judge
from regard.training.loop import Objective, TrainingData, training_steps
from regard.training.state import TrainingState


def update_until_done(
    run: Run,
    recipe: Recipe,
    state: TrainingState,
    data: TrainingData,
    objective: Objective,
    judge: Judge | None,
    stop: Callable[[], int],
) -> Generator[Event, None, bool]:
    """Train to the end, or return False when asked to stop. Only a team's leader has a judge."""
    train, progress, members = recipe.train, state.progress, data.team
    steps = training_steps(
        state.model, state.optimizer, objective, data, train, recipe.seed, progress.position
    )
    while not done(state, recipe):
        if members.any(stop() > 0):
            saved = state.step == 0 or run.checkpoint_path(state.step).exists()
            if not members.from_leader(saved):
                yield save(run, recipe, state, data)
            if members.leads:
                card.write_stopped(run, recipe, state)
            yield Interrupted(state.step, stop() or signal.SIGTERM)
            return False
        report = next(steps)
        note_step(report, state)
        if judge:
            judge.clock.note_update(report.seconds)
            report = replace(report, seconds_left=judge.clock.seconds(report.step))
        if judge and (report.skipped or report.step % train.log_every == 0 or report.step == 1):
            judge.log.write("step", report.step, logged(report))
        yield report
        if progress.skipped_in_a_row >= train.max_skipped:
            raise RunError(
                f"{progress.skipped_in_a_row} updates in a row had a loss or gradient that is not "
                f"finite (step {report.step}); lower train.learning_rate, lengthen "
                "train.warmup_steps or set train.clip_norm, and start again in another folder"
            )
        if report.step % train.eval_every == 0 or report.step == train.steps:
            weights = state.judged_weights()
            if judge:
                yield Phase("Validating")
                yield judge.judge(weights)
            progress.stale = int(members.from_leader(progress.stale))
        if report.step % train.save_every == 0 or done(state, recipe):
            yield Phase("Saving a checkpoint")
            yield save(run, recipe, state, data)
    return True


def done(state: TrainingState, recipe: Recipe) -> bool:
    patience = recipe.train.patience
    return state.step >= recipe.train.steps or 0 < patience <= state.progress.stale


def note_step(report: StepReport, state: TrainingState) -> None:
    """Count an update, and update the moving average."""
    progress = state.progress
    progress.position = report.position
    progress.tokens += report.tokens
    progress.seconds += report.seconds
    progress.skipped += report.skipped
    progress.skipped_in_a_row = progress.skipped_in_a_row + 1 if report.skipped else 0
    if state.average is not None and not report.skipped:
        state.average.update(state.model, report.step)


def save(run: Run, recipe: Recipe, state: TrainingState, data: TrainingData) -> Saved:
    """All processes gather the checkpoint, and the leader writes it."""
    tensors = state.tensors()
    for name, tensor in data.carried(state.progress.position).items():
        tensors[f"carried/{name}"] = tensor
    if data.team.leads:
        state.save(run, tensors)
        drop_old_checkpoints(run, recipe)
    return Saved(state.step, run.checkpoint_path(state.step))


def drop_old_checkpoints(run: Run, recipe: Recipe) -> None:
    """Keep the newest regular checkpoints, and the last one if an interruption saved it."""
    paths = run.checkpoints()
    regular = [p for p in paths if int(p.stem.partition("-")[2]) % recipe.train.save_every == 0]
    kept = {*regular[-recipe.train.keep :], paths[-1]}
    for path in paths:
        if path not in kept:
            path.unlink(missing_ok=True)


def logged(report: StepReport) -> dict[str, Any]:
    return {
        "epoch": report.position.epoch,
        "loss": report.loss,
        "learning_rate": report.learning_rate,
        "grad_norm": report.grad_norm,
        "tokens": report.tokens,
        "seconds": round(report.seconds, 4),
        "skipped": report.skipped,
    }
