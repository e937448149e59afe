"""The state of a run in training, which checkpoints save and restore."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from regard.errors import RunError
from regard.evaluate.validation import Validation
from regard.files import read_metadata
from regard.made_with import MadeWith
from regard.recipe import TrainSection
from regard.run import Run
from regard.training.events import Position
from regard.training.optimizer import (
    MovingAverage,
    build_optimizer,
    load_optimizer,
    optimizer_tensors,
)
from regard.training.parallel import copy_weights, whole
from regard.weights import check_weights, load_checkpoint, save_checkpoint, weights


@dataclass
class Progress:
    """The part of a checkpoint that is not tensors."""

    position: Position = field(default_factory=Position)
    best: Validation | None = None
    averaged: int = 0  # checkpoints averaged into the best weights; 0 when they are of one step
    stale: int = 0  # validations since the best
    skipped: int = 0  # updates that were not finite
    skipped_in_a_row: int = 0
    tokens: int = 0
    seconds: float = 0.0
    conditions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Progress":
        best = values["best"]
        position = Position(**values["position"])
        return cls(
            **{
                **values,
                "position": position,
                "best": restored(best) if best else None,
            }
        )


def restored(best: dict[str, Any]) -> Validation:
    """Read a validation from a checkpoint; the first versions saved scores of pairs only."""
    scores = best.get("scores")
    if scores is None:
        loss = best["loss"]
        scores = {
            "perplexity": math.exp(min(loss, 100.0)),
            **{n: best[n] for n in ("bleu", "chrf")},
        }
    return Validation(best["step"], best["loss"], scores, (), best["best"])


class TrainingState:
    """Model, optimizer, moving average and progress. A checkpoint consists of these and the states
    that a model carries from batch to batch.
    """

    def __init__(
        self, model: nn.Module, train: TrainSection, twin: Callable[[], nn.Module] | None = None
    ) -> None:
        self.model = model
        # Builds an unsharded model, where the one in training is sharded.
        self.twin = twin
        self.optimizer = build_optimizer(model, train)
        self.average = MovingAverage(model, train.moving_average) if train.moving_average else None
        self.progress = Progress()
        self.made_with: MadeWith | None = None
        self.carried: dict[str, Tensor] = {}  # as the checkpoint had it

    @property
    def step(self) -> int:
        return self.progress.position.step

    @property
    def precision_so_far(self) -> str | None:
        """The type that the run was trained in; the first versions noted none."""
        return self.progress.conditions.get("precision", "float32") if self.step else None

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of a checkpoint, gathered by all processes of a team together."""
        groups = {
            "weight": weights(self.model),
            "average": {} if self.average is None else self.average.weights,
            "optimizer": optimizer_tensors(self.model, self.optimizer),
        }
        return {
            f"{group}/{name}": whole(tensor)
            for group, tensors in groups.items()
            for name, tensor in tensors.items()
        }

    def save(self, run: Run, tensors: Mapping[str, Tensor]) -> None:
        progress = {**asdict(self.progress), "best": best_without_samples(self.progress.best)}
        save_checkpoint(run, self.step, tensors, progress, self.made_with)

    def restore(self, run: Run, made_with: MadeWith | None = None) -> list[str]:
        """Load the newest readable checkpoint of this run, if any; return a sentence for each that
        is damaged or of another run.

        If all are, training does not start again: it would overwrite the best weights.
        """
        self.made_with = made_with
        damaged: dict[Path, RunError] = {}
        for path in reversed(run.checkpoints()):
            try:
                self.load(run, path)
            except RunError as error:
                damaged[path] = error
                continue
            break
        else:
            if damaged:
                raise RunError(
                    f"{next(iter(damaged.values()))}; no checkpoint in {run.training} can be used, "
                    "choose another --out to start again"
                )
        for path in damaged:
            path.rename(path.with_suffix(".damaged"))
        return [
            f"{error}; it is set aside and step {self.step:,} is used" for error in damaged.values()
        ]

    def load(self, run: Run, path: Path) -> None:
        before = MadeWith.read(read_metadata(path), path)
        if before and self.made_with and (misfit := before.misfit(self.made_with)):
            raise RunError(f"{path}: not of this run ({misfit})")
        tensors, progress = load_checkpoint(run, path)
        try:
            restored = Progress.from_json(progress)
            stored = part(tensors, "weight/")
            check_weights(self.model, stored, path)
            copy_weights(self.model, stored)
            if self.average is not None:
                self.average.load(part(tensors, "average/"))
            load_optimizer(self.model, self.optimizer, part(tensors, "optimizer/"))
            self.carried = part(tensors, "carried/")
        except (KeyError, TypeError) as error:
            raise RunError(f"{path}: not a checkpoint of this run ({error})") from None
        self.progress = restored

    def resume_under(self, conditions: dict[str, str]) -> list[str]:
        """Record the conditions of this start; return a sentence for each that has changed."""
        before = self.progress.conditions or conditions
        self.progress.conditions = conditions
        return [
            f"{name}: {value} now, {before.get(name)} in the start before; the result may differ "
            "in the last bits from that of a run not interrupted"
            for name, value in conditions.items()
            if before.get(name) != value
        ]

    def judged_weights(self) -> dict[str, Tensor]:
        """The weights to validate and keep: the moving average where there is one."""
        tensors = weights(self.model) if self.average is None else self.average.weights
        return {name: whole(tensor) for name, tensor in tensors.items()}

    @contextmanager
    def model_with(self, tensors: Mapping[str, Tensor]) -> Iterator[nn.Module]:
        """A model with other weights, inside the block."""
        if self.twin is not None:
            model = self.twin()
            copy_weights(model, tensors)
            yield model
            return
        own = {name: tensor.clone() for name, tensor in weights(self.model).items()}
        try:
            copy_weights(self.model, tensors)
            yield self.model
        finally:
            copy_weights(self.model, own)


def part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def best_without_samples(best: Validation | None) -> dict[str, Any] | None:
    return None if best is None else {**asdict(best), "samples": ()}
