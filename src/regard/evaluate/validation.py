"""Validation of a model in training, whatever its task."""

from collections.abc import Mapping
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
    """A validation set."""

    def findings(self, model: Any) -> Findings: ...


@dataclass(frozen=True)
class Validation:
    step: int
    loss: float
    scores: Mapping[str, float | None] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    best: bool = False


def validate(model: Any, data: HeldOut, step: int) -> Validation:
    training = model.training
    model.eval()
    try:
        found = data.findings(model)
    finally:
        model.train(training)
    return Validation(step, found.loss, found.scores, found.samples)
