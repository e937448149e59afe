"""How a model in training does on data it has not learned from, whatever its task."""

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
    """What a set of held-out data tells of a model."""

    loss: float  # of each token or label, without label smoothing
    scores: Mapping[str, float | None]  # the task's own, in the order of their telling
    samples: tuple[Sample, ...] = ()


class HeldOut(Protocol):
    """Data to validate on."""

    def findings(self, model: Any, batch_tokens: int) -> Findings: ...


@dataclass(frozen=True)
class Validation:
    step: int
    loss: float
    scores: Mapping[str, float | None] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    best: bool = False


# How scores are told to people: their names, and how many decimals they deserve.
NAMES = {
    "perplexity": ("perplexity", 2),
    "bleu": ("BLEU", 1),
    "chrf": ("chrF", 1),
    "bits_per_character": ("bits/character", 3),
    "accuracy": ("accuracy", 2),
    "macro_f1": ("macro-F1", 2),
    "span_f1": ("span F1", 2),
    "next_sentence_accuracy": ("next-sentence accuracy", 2),
    "temperature": ("temperature", 2),
    "calibration_error": ("calibration error", 2),
}


def told(scores: Mapping[str, float | None]) -> list[str]:
    """Those there are: BLEU 31.2, chrF 55.0"""
    return [
        f"{NAMES[name][0]} {value:.{NAMES[name][1]}f}"
        for name, value in scores.items()
        if value is not None
    ]


def validate(model: Any, data: HeldOut, step: int, batch_tokens: int) -> Validation:
    training = model.training
    model.eval()
    try:
        found = data.findings(model, batch_tokens)
    finally:
        model.train(training)
    return Validation(step, found.loss, found.scores, found.samples)
