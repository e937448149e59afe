"""The parts of training that differ from task to task."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import nn

from regard.data.batches import Order
from regard.data.stream import CarriedState
from regard.evaluate.validation import HeldOut
from regard.training.loop import Examples, Objective


@dataclass(frozen=True)
class TrainingSetup:
    # The task's `build` needs these beside the recipe; they are saved with the weights.
    sizes: Mapping[str, int]
    examples: Examples
    batches: Order
    objective: Objective  # (model, batch) → Loss
    held_out: HeldOut
    carried: CarriedState | None = None
    # Whether the objective compares the rows of a batch with each other, which then stay together.
    compares_rows: bool = False
    # Initialises a new model from the data, before the first update; returns a remark or "".
    initialise: Callable[[nn.Module], str] | None = None
    # A few words on the sizes, for the estimate before training.
    remark: str = ""
    # Whether a new model answers well before its first update, since a simpler model beside it
    # does; then it is validated and kept at once.
    answers_at_once: bool = False
    # Scores of a simpler way on the validation set, which the model's stand beside.
    beside: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class FoundSetup:
    """A model that was found directly, without updates."""

    sizes: Mapping[str, int]
    model: nn.Module
    held_out: HeldOut
    seconds: float  # that it took
    beside: Mapping[str, float] = field(default_factory=dict)
