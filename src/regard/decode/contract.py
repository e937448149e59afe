"""What search needs from a model, and what it returns.

A model that generates is a recurrent function: `step(tokens, state) -> (logits, state)`. Search
never sees a model, only its step and its state.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from torch import Tensor

from regard.decode.hypothesis import Hypothesis as Hypothesis


class State(Protocol):
    """What a model remembers of the tokens so far, one row for each sequence.

    Use a state only once: a step and `select` may write into it.
    """

    def select(self, rows: Tensor) -> Self:
        """A state whose row i is row `rows[i]` of this one. A row may occur twice or not at all."""


StateT = TypeVar("StateT", bound=State)

# tokens [rows], state -> logits [rows, V], state. The caller may write into the logits.
Step = Callable[[Tensor, StateT], tuple[Tensor, StateT]]


@dataclass(frozen=True)
class Rows:
    """What each row has produced so far, and for which sentence."""

    tokens: Tensor  # [rows, T], without START
    sentences: Tensor  # [rows], numbered as in the call, even after other sentences have finished


NEVER = float("-inf")  # the score of what is impossible

# scores [rows, V], rows -> scores [rows, V]. Scores are logits or log-probabilities; a filter
# rescales them or sets -inf, and always leaves each row at least one possible token. It may write
# into the scores it is given.
Filter = Callable[[Tensor, Rows], Tensor]
