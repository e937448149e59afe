"""What search needs from a model, and what it gives back.

Whatever generates is a recurrent function: `step(tokens, state) -> (logits, state)`. Search never
sees a model, only its step and its state.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from torch import Tensor

from regard.decode.hypothesis import Hypothesis as Hypothesis


class State(Protocol):
    """What a model remembers of the tokens so far, one row for each sequence.

    A state is used once, by a step or by `select`, which may write into it.
    """

    def select(self, rows: Tensor) -> Self:
        """The state whose row i is row `rows[i]` of this one; a row may be named twice or never."""


StateT = TypeVar("StateT", bound=State)

# tokens [rows], state -> logits [rows, V], state. The logits are the caller's, to write into.
Step = Callable[[Tensor, StateT], tuple[Tensor, StateT]]


@dataclass(frozen=True)
class Rows:
    """What each row has produced so far, and for which sentence."""

    tokens: Tensor  # [rows, T], without START
    sentences: Tensor  # [rows], numbered as in the call, also after other sentences have left


NEVER = float("-inf")  # the score of what cannot be

# scores [rows, V], rows -> scores [rows, V]. Scores are logits or log-probabilities; a filter
# rescales them or sets -inf, and always leaves each row at least one possible token. It may write
# into the scores it is given.
Filter = Callable[[Tensor, Rows], Tensor]
