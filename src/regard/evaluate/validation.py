"""Validation of a model in training, whatever its task."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Sample:
    source: str
    reference: str
    output: str


@dataclass(frozen=True)
class Findings:
    """The results of a model on a validation set."""

    loss: float  # per token or label, without label smoothing
    scores: Mapping[str, float | None]  # the task's own, in the order they are shown
    samples: tuple[Sample, ...] = ()


class HeldOut(Protocol):
    """A validation set. It may also have `seconds(model)`, which says how long its findings take
    without finding them all.
    """

    def findings(self, model: Any) -> Findings: ...


@dataclass(frozen=True)
class Validation:
    step: int
    loss: float
    scores: Mapping[str, float | None] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    best: bool = False


def timed(work: Callable[[], object]) -> float:
    """The seconds that a piece of work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def expected_seconds(model: Any, data: HeldOut) -> float:
    """About how long a validation takes; 0 where the validation set cannot tell."""
    seconds = getattr(data, "seconds", None)
    if seconds is None:
        return 0.0
    training = model.training
    model.eval()
    try:
        return float(seconds(model))
    finally:
        model.train(training)


def validate(model: Any, data: HeldOut, step: int) -> Validation:
    training = model.training
    model.eval()
    try:
        found = data.findings(model)
    finally:
        model.train(training)
    return Validation(step, found.loss, found.scores, found.samples)
