"""What a flow is made of: boxes, the stages inside a box, and the numbers behind one number.

R rows (tokens, patches, steps), C columns (dimensions, or other tokens).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torch import Tensor

# Labels of rows or columns: the name of a side ("source", "target" …), or the labels themselves.
# Without any, they are numbered dimensions.
Labels = str | tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """Where one number comes from: lists of equal length, and what is done with the last of them.

    Each step has what is done, and its result; the last result is the number.
    """

    names: tuple[str, ...] = ()
    lists: tuple[list[float], ...] = ()
    labels: Labels = ""
    steps: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Stage:
    """One matrix on the way through a box."""

    name: str  # "q = x · W_Q + b"
    says: str
    values: Tensor  # [R, C]
    cell: Callable[[int, int], Cell]
    rows: Labels = ""
    columns: Labels = ""


@dataclass(frozen=True)
class At:
    """Where the visitor is: a head of the box, and a row of each side."""

    head: int = 0
    rows: dict[str, int] = field(default_factory=dict)

    def row(self, side: str, length: int) -> int:
        return max(0, min(self.rows.get(side, 0), length - 1))


@dataclass(frozen=True)
class Box:
    name: str  # "encoder.0.self_attention", after the module
    title: str
    shape: str  # "11×128 → 4 heads × 11×32 → 11×11 → 11×128"
    side: str  # whose tokens its rows are
    output: Tensor  # [R, d]
    stages: Callable[[At], list[Stage]]
    layer: int | None = None
    heads: int = 0  # to choose from; or directions of a recurrent layer
    part: str = ""  # of attention, as heads are named: "cross" for "cross.1.3"
    reads: str = ""  # the stack whose output it reads, beside the box before it
    adds: bool = False  # whether it adds to the residual stream
    stream: Tensor | None = None  # [R, d], what a lens turns into predictions


@dataclass(frozen=True)
class Stack:
    name: str
    title: str
    side: str
    boxes: list[Box]


@dataclass(frozen=True)
class Guess:
    name: str
    probability: float


@dataclass(frozen=True)
class Flow:
    """The whole way, from tokens to probabilities."""

    stacks: list[Stack]
    labels: dict[str, list[str]]  # of each side
    # From a row of a stream to logits, and names of what is predicted; without, there is no lens.
    lens: Callable[[Tensor], Tensor] | None = None
    names: Callable[[Sequence[int]], list[str]] = lambda ids: [str(each) for each in ids]

    def box(self, name: str) -> Box | None:
        return next((box for stack in self.stacks for box in stack.boxes if box.name == name), None)

    def guesses(self, stream: Tensor, count: int) -> list[Guess]:
        """The likeliest predictions, if the model ended after this row [d] of a stream."""
        if self.lens is None:
            return []
        shares = self.lens(stream).double().softmax(-1)
        found = shares.topk(min(count, len(shares)))
        names = self.names(found.indices.tolist())
        return [Guess(*each) for each in zip(names, found.values.tolist(), strict=True)]


def product(*sizes: int) -> str:
    return "×".join(map(str, sizes))


def numbers(row: Tensor) -> list[float]:
    found: list[float] = row.double().tolist()
    return found
