"""The questions of a plan to a task: how much data there is, and what a batch holds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from regard.configs.work import SENTENCE, Part, Work, part_of
from regard.reporter import Reporter
from regard.run import Run

# Pieces per word, where the data is not available.
PIECES = 1.3


@dataclass(frozen=True)
class Sizes:
    """Sizes that depend on the data: the numbers of different tokens or labels that a model reads
    and predicts, the mean length of a sentence and of a word in pieces, and for series the columns
    that are known in advance. Both sides of a pair count as equally long.
    """

    inputs: int
    outputs: int
    sentence: float = SENTENCE
    word: float = PIECES
    known: int = 0

    def of_model(self) -> dict[str, int]:
        return {"inputs": self.inputs, "outputs": self.outputs, "known": self.known}


@dataclass(frozen=True)
class DataFacts:
    """Facts about a recipe's data: its sizes, whether its vocabulary and labels are known or only
    assumed, and the tokens of one pass over the training data, as training counts them.
    """

    sizes: Sizes
    vocabulary_known: bool = False
    labels_known: bool = False
    tokens: float | None = None


def text_parts(recipe: Any, sizes: Sizes, work: Work, mixed: bool) -> list[Part]:
    """A model of text is one part."""
    return [part_of(recipe.model, sizes.outputs, work, mixed)]


def batch_size(train: Any) -> int:
    """The tokens of a batch, or its examples where these count as one token each."""
    return int(getattr(train, batch_setting(train)))


def batch_setting(train: Any) -> str:
    return "batch_tokens" if hasattr(train, "batch_tokens") else "batch_size"


@dataclass(frozen=True)
class TaskPlanning:
    """The functions take the task's recipe first; a share of a batch is 1 for all of it."""

    # The facts about the data, given the run that the recipe was found in.
    facts: Callable[[Any, Run | None, Reporter], DataFacts]
    # The work of a share of a batch without padding, and with padding, which memory holds.
    work: Callable[[Any, float, Sizes], Work]
    padded_work: Callable[[Any, float, Sizes], Work]
    # Tokens of that work as training counts them.
    counted_tokens: Callable[[Any, Work], float]
    # The word for the examples, as in "passes over the pairs".
    examples: str
    # A batch of this many tokens, in words; and a remark after it.
    batch: Callable[[Any, float], str]
    remark: Callable[[Any], str] = lambda recipe: ""
    # What the parts of the model cost for such work, in mixed precision or not.
    parts: Callable[[Any, Sizes, Work, bool], list[Part]] = text_parts
    # Bytes that the loss keeps beside the model.
    loss_bytes: Callable[[Any, Sizes, Work], float] = lambda recipe, sizes, work: 0.0
    # Whether the loss allocates one more gradient for its weight.
    gradient_beside: bool = False
    inputs: str = "pieces"  # the word for what `Sizes.inputs` counts
    has_lengths: bool = True  # of sentences or texts, rather than of windows
    has_labels: bool = False
    compares_rows: bool = False  # of a batch with each other, so that its size matters
