"""What training needs to know of its task; the rest is the same for all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import nn

from regard.data.batches import Order
from regard.data.stream import CarriedState
from regard.evaluate.validation import HeldOut
from regard.training.loop import Examples, Objective


@dataclass(frozen=True)
class TrainingSetup:
    # What the task's `build` needs beside the recipe; it is saved with the weights.
    sizes: Mapping[str, int]
    examples: Examples
    batches: Order
    objective: Objective  # (model, batch) → Loss
    held_out: HeldOut
    carried: CarriedState | None = None
    # Fills a fresh model with what the data says before the first update; a remark, or nothing.
    initialise: Callable[[nn.Module], str] | None = None
    # A few words on the sizes, for the estimate before training.
    remark: str = ""
