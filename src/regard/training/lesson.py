"""What training needs to know of its task; the rest is the same for all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from regard.data.batches import Order
from regard.data.stream import CarriedState
from regard.evaluate.validation import HeldOut
from regard.objectives import Loss
from regard.training.loop import Examples


@dataclass(frozen=True)
class Lesson:
    inputs: int  # how many tokens there are to read
    outputs: int  # how many tokens or labels there are to predict
    examples: Examples
    batches: Order
    # (model, batch, label smoothing) → Loss
    objective: Callable[[Any, Any, float], Loss]
    held_out: HeldOut
    carried_state: CarriedState | None = None
