"""Formulas for the arithmetic and memory of a batch, counted in tokens.

docs/scale.md says what the formulas of the configs were checked against. d is d_model, f is d_ff.
"""

from typing import NamedTuple, Protocol

# Pieces of a sentence, its end included, where the data is not available.
SENTENCE = 30


class Work(NamedTuple):
    """The size of a batch: the tokens that a model reads, the tokens or labels that it predicts,
    and the lengths that attention looks at.
    """

    source_tokens: float
    target_tokens: float
    source_length: float = SENTENCE
    target_length: float = SENTENCE


class HasWork(Protocol):
    """Settings of a model that has formulas for its work."""

    @property
    def d_model(self) -> int:
        """The width of its layers."""

    @property
    def depth(self) -> int:
        """The number of layers."""

    def training_flops(self, outputs: int, work: Work) -> float:
        """Multiplications and additions of the products of a forward and a backward pass: 2 for
        each weight and token forward, and twice that backward. `outputs` is the number of tokens or
        labels to predict one of.
        """

    def activation_bytes(self, work: Work, mixed: bool = False) -> float:
        """Bytes that the forward pass keeps for the backward pass, padding included. Mixed
        precision halves what products and attention keep.
        """


class Part(NamedTuple):
    """What a part of a model costs for a batch."""

    width: int  # of its layers: narrow ones are slower
    depth: float  # how many layers it has
    flops: float  # forward and backward, but for the projection on a vocabulary or on labels
    loss_flops: float  # of that projection
    kept_bytes: float  # what the forward pass keeps for the backward pass


def part_of(config: HasWork, outputs: int, work: Work, mixed: bool) -> Part:
    """A model, or a part of one, that has formulas of its own."""
    loss = loss_flops(config.d_model, outputs, work.target_tokens)
    flops = config.training_flops(outputs, work) - loss
    return Part(config.d_model, config.depth, flops, loss, config.activation_bytes(work, mixed))


def loss_flops(d_model: int, outputs: int, target_tokens: float) -> float:
    """The projection on the vocabulary or the labels, forward and backward."""
    return 6.0 * d_model * outputs * target_tokens
