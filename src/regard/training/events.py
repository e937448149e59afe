"""The events that a training run reports, in the order in which they happen."""

import signal
from dataclasses import dataclass, field
from pathlib import Path

from regard.data.pair_filter import FilterReport
from regard.evaluate.validation import Validation


@dataclass(frozen=True)
class Note:
    """Something a person should know: a warning, a fallback."""

    text: str
    warning: bool = False


@dataclass(frozen=True)
class Phase:
    """The work that starts now and ends with the next event."""

    text: str  # "Encoding the pairs"


@dataclass(frozen=True)
class DataReady:
    """The kept and dropped pairs; the reports are None when an earlier start prepared them."""

    train_pairs: int
    valid_pairs: int
    padding: float
    train_report: FilterReport | None
    valid_report: FilterReport | None


@dataclass(frozen=True)
class Peak:
    """FLOP per token in the model's products, and the FLOP/s that the devices reach in products
    alone; 0 where that was not measured.
    """

    flops_per_token: float
    flops_per_second: float

    def share(self, tokens_per_second: float) -> float | None:
        """The share of the peak that training reaches at a speed."""
        if not self.flops_per_second:
            return None
        return tokens_per_second * self.flops_per_token / self.flops_per_second


@dataclass(frozen=True)
class ExamplesReady:
    """The number of examples that are not pairs, and remarks about them."""

    train: int
    valid: int
    unit: str  # "tokens", "texts" or "sentences"
    padding: float
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """The expected cost of training, measured with trial updates on this machine."""

    parameters: int
    steps: int
    passes: float  # over the data
    tokens_per_second: float
    seconds: float  # of the updates, the validations and the phase after them
    memory_bytes: int
    peak: Peak
    remark: str = ""  # by the task, about its sizes


@dataclass(frozen=True)
class Resumed:
    step: int
    peak: Peak = field(default=Peak(0.0, 0.0), compare=False)


@dataclass(frozen=True)
class Position:
    """The progress of training: updates done, and the next batch as (epoch, index)."""

    step: int = 0
    epoch: int = 0
    index: int = 0


@dataclass(frozen=True)
class StepReport:
    step: int
    position: Position
    loss: float  # per predicted token or label
    learning_rate: float
    grad_norm: float
    tokens: int  # real tokens of the update, read or predicted
    seconds: float
    skipped: bool  # loss or gradient was not finite, so nothing was updated
    # Until the run is complete, with validations and what follows the last; 0 where unknown.
    seconds_left: float = field(default=0.0, compare=False)

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


@dataclass(frozen=True)
class Saved:
    step: int
    path: Path


@dataclass(frozen=True)
class Interrupted:
    """Everything is saved; the same command resumes from here."""

    step: int
    signal: int = signal.SIGINT  # that asked for it


@dataclass(frozen=True)
class Finished:
    """The run is complete; `validation` scores the weights in model.safetensors."""

    folder: Path
    step: int
    seconds: float
    validation: Validation
    averaged: int  # checkpoints averaged into the weights; 0 when these are of one step
    early: bool


Event = (
    Note
    | Phase
    | DataReady
    | ExamplesReady
    | Estimate
    | Resumed
    | StepReport
    | Validation
    | Saved
    | Interrupted
    | Finished
)
