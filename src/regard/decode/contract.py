"""What search needs from a model, and what it gives back.

Whatever generates is a recurrent function: `step(tokens, state) -> (logits, state)`. Search never
sees a model, only its step and its state.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from torch import Tensor


class State(Protocol):
    """What a model remembers of the tokens so far, one row for each sequence."""

    def select(self, rows: Tensor) -> Self:
        """The state whose row i is row `rows[i]` of this one; a row may be named twice or never."""


StateT = TypeVar("StateT", bound=State)

# tokens [rows], state -> logits [rows, V], state
Step = Callable[[Tensor, StateT], tuple[Tensor, StateT]]


@dataclass(frozen=True)
class Rows:
    """What each row has produced so far, and for which sentence."""

    tokens: Tensor  # [rows, T], without START
    sentences: Tensor  # [rows], numbered as in the call, also after other sentences have left


NEVER = float("-inf")  # the score of what cannot be

# scores [rows, V], rows -> scores [rows, V]. Scores are logits or log-probabilities; a filter
# rescales them or sets -inf, and always leaves each row at least one possible token.
Filter = Callable[[Tensor, Rows], Tensor]


@dataclass(frozen=True)
class Hypothesis:
    """One output. The score is comparable between outputs of one sentence: higher is better."""

    tokens: list[int]  # without START and END
    log_probabilities: list[float]  # one for each token, and one for END when finished
    score: float
    finished: bool  # False when the length limit cut it off
