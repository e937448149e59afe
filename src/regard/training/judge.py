"""Decides which weights a run keeps: the best on the validation set."""

import math
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from torch import Tensor

from regard import tasks
from regard.errors import RecipeError, RunError
from regard.evaluate.metrics import LOSS, Metric
from regard.evaluate.validation import Validation, validate
from regard.recipe import Recipe
from regard.run import Run
from regard.training.log import Log
from regard.training.setup import FoundSetup, TrainingSetup
from regard.training.state import TrainingState
from regard.training.time_left import TimeLeft
from regard.weights import all_finite, save_model


@dataclass(frozen=True)
class Judge:
    """Compares weights with the best so far; better ones become the run's model at once."""

    run: Run
    recipe: Recipe
    state: TrainingState
    setup: TrainingSetup | FoundSetup
    log: Log
    clock: TimeLeft

    def judge(self, tensors: dict[str, Tensor]) -> Validation:
        """Validate the weights of this step, or their moving average where there is one."""
        progress = self.state.progress
        started = time.perf_counter()
        validation = self.validate(tensors, self.state.step)
        self.clock.note_validation(time.perf_counter() - started)
        best = self.keep_if_better(validation, tensors, averaged=0)
        progress.stale = 0 if best else progress.stale + 1
        validation = replace(validation, best=best)
        self.log.write("validation", validation.step, scores(validation))
        return validation

    def validate(self, tensors: dict[str, Tensor], step: int) -> Validation:
        if not all_finite(tensors):
            raise RunError(
                f"{self.run.folder}: the weights of step {step} hold numbers that are not finite; "
                "lower train.learning_rate, lengthen train.warmup_steps or set train.clip_norm, "
                "and start again in another folder"
            )
        with self.state.model_with(tensors) as model:
            found = validate(model, self.setup.held_out, step)
        return replace(found, scores={**found.scores, **self.setup.beside})

    def keep_if_better(
        self, validation: Validation, tensors: dict[str, Tensor], averaged: int
    ) -> bool:
        progress = self.state.progress
        if not better(validation, progress.best, self.metric()):
            return False
        progress.best, progress.averaged = replace(validation, best=True), averaged
        found = {"loss": validation.loss, **validation.scores}
        made_with, sizes = self.state.made_with, self.setup.sizes
        save_model(self.run, tensors, validation.step, sizes, made_with, found)
        return True

    def metric(self) -> Metric:
        """The metric that decides, as the recipe names it."""
        name, task = self.recipe.train.metric, tasks.get(self.recipe.task)
        for each in (LOSS, *task.metrics):
            if each.name == name:
                return each
        raise RecipeError(f"train.metric = {name!r}: task {task.name} has no such metric")


def better(new: Validation, old: Validation | None, metric: Metric) -> bool:
    """Whether a validation beats another by a metric; where they are equal, the loss decides."""
    if old is None or not math.isfinite(old.loss):
        return True
    score = new.scores.get(metric.name)
    if metric.name == LOSS.name or score is None or score == old.scores.get(metric.name):
        return new.loss < old.loss
    return metric.better(score, old.scores.get(metric.name))


def scores(validation: Validation) -> dict[str, Any]:
    return {
        "loss": validation.loss,
        **validation.scores,
        "best": validation.best,
        "samples": asdict(validation)["samples"],
    }
