"""How far back gradients reach: ‖∂loss_T/∂s_t‖ for the states of a recurrent decoder.

B sentences, T steps. s_t is all that step t passes to step t + 1: h of every layer and, for an
LSTM, its cell state c, through which most of the gradient flows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.batch import Batch


class Decoder(Protocol):
    """A model whose state has `layers`, each a tuple of tensors [B, d]."""

    def start(self, source: Tensor, source_mask: Tensor) -> Any: ...

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]: ...


@dataclass
class GradientFlow:
    """Sums of norms over all pairs of a loss and an earlier state, by their distance in steps."""

    norms: list[float] = field(default_factory=list)
    # The norms at distance 0 of the same losses. Only long sentences have far states; dividing by
    # this makes these comparable with near ones.
    nearest: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def add(self, norms: Tensor) -> None:
        """Add norms [distances, losses] of losses that all reach equally far back."""
        for distance, sums in enumerate(norms.sum(1).tolist()):
            if distance == len(self.counts):
                self.norms.append(0.0)
                self.nearest.append(0.0)
                self.counts.append(0)
            self.norms[distance] += sums
            self.nearest[distance] += float(norms[0].sum())
            self.counts[distance] += norms.size(1)

    def means(self) -> list[float]:
        """The mean norm at each distance T − t, beginning with 0."""
        return [norm / count for norm, count in zip(self.norms, self.counts, strict=True)]

    def shares(self) -> list[float]:
        """The means relative to distance 0: the share of a gradient that is left at each
        distance.
        """
        return [
            norm / nearest if nearest else 0.0
            for norm, nearest in zip(self.norms, self.nearest, strict=True)
        ]


def state_gradients(model: Decoder, batch: Batch) -> Iterator[Tensor]:
    """For each T: ‖∂loss_T/∂s_{T-k}‖ as [k, sentences], over the sentences that have a step T.

    The decoder is unrolled with its own `step`, so that the loss can be differentiated with respect
    to every state.
    """
    state = model.start(batch.source, batch.source_mask)
    states: list[list[Tensor]] = []
    losses: list[Tensor] = []
    for token, label in zip(batch.target.unbind(1), batch.labels.unbind(1), strict=True):
        logits, state = model.step(token, state)
        states.append([part for layer in state.layers for part in layer])
        losses.append(F.cross_entropy(logits, label, reduction="none"))
    for last, loss in enumerate(losses):
        real = batch.label_mask[:, last]
        reached = [part for parts in states[: last + 1] for part in parts]
        gradients = torch.autograd.grad(
            loss[real].sum(), reached, retain_graph=True, materialize_grads=True
        )
        # The rows of a batch are independent: the gradient of a row comes from its own loss.
        squares = torch.stack([part.double().square().sum(1)[real] for part in gradients])
        yield squares.unflatten(0, (last + 1, -1)).sum(1).sqrt().flip(0)
