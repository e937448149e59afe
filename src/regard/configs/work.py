"""How much arithmetic and memory a batch takes, counted in tokens.

docs/scale.md says what the formulas of the configs were checked against. d is d_model, f is d_ff.
"""

from typing import NamedTuple, Protocol

# Pieces of a sentence, its end included, where the data is not there to be asked.
SENTENCE = 30.0


class Work(NamedTuple):
    """A batch as a model meets it: tokens that it reads and tokens or labels that it predicts, and
    the lengths that attention looks at.
    """

    source_tokens: float
    target_tokens: float
    source_length: float = SENTENCE
    target_length: float = SENTENCE


class HasWork(Protocol):
    """Settings of a model whose work is known by formula."""

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


def loss_flops(d_model: int, outputs: int, target_tokens: float) -> float:
    """The projection on the vocabulary or the labels, forward and backward."""
    return 6.0 * d_model * outputs * target_tokens
