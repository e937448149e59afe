"""Combines the logits of a network and of a linear model, with weights from held-out examples.

Shapes: N examples, L labels.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from regard.evaluate.temperature import fitted_temperature

STEPS, SMALLEST_STEP = 30, 1e-3
# By how much a second model has to lower the loss of all examples together, for a reason that is
# not chance: twice what a weight that means nothing gains on average.
LEAST_GAIN = 1.0


class Weights(NamedTuple):
    """What the logits of each are multiplied by before they are added up; 0 leaves one out."""

    network: float
    linear: float


def combination(network: Tensor, linear: Tensor, labels: Tensor) -> Weights:
    """The weights that make the labels likeliest, of logits [N, L]. They also calibrate what comes
    out. Where one model adds nothing to the other, it is left out.
    """
    single = [
        Weights(0.0, 1 / fitted_temperature(linear, labels)),
        Weights(1 / fitted_temperature(network, labels), 0.0),
    ]
    losses = [total_loss(network, linear, labels, each) for each in single]
    loss, best = min(zip(losses, single, strict=True))
    both = likeliest(network, linear, labels, single[0])
    gain = loss - total_loss(network, linear, labels, both)
    return both if min(both) > 0 and gain > LEAST_GAIN else best


def total_loss(network: Tensor, linear: Tensor, labels: Tensor, weights: Weights) -> float:
    logits = weights.network * network + weights.linear * linear
    return float(cross_entropy(logits, labels, reduction="sum"))


def likeliest(network: Tensor, linear: Tensor, labels: Tensor, start: Weights) -> Weights:
    """Both weights by Newton's method, under a normal prior around the start with standard
    deviation 1.
    """
    parts = torch.stack((network, linear), 1)  # [N, 2, L]
    targets = one_hot(labels, network.size(-1)).to(parts.dtype)
    centre = torch.tensor(start, dtype=parts.dtype)

    def value(weights: Tensor) -> float:
        logits = torch.einsum("w,nwl->nl", weights, parts)
        loss = cross_entropy(logits, labels, reduction="sum")
        return float(loss + (weights - centre).square().sum() / 2)

    weights = centre
    for _ in range(STEPS):
        shares = torch.einsum("w,nwl->nl", weights, parts).softmax(-1)
        slope = torch.einsum("nl,nwl->w", shares - targets, parts) + weights - centre
        means = torch.einsum("nl,nwl->nw", shares, parts)
        curvature = torch.einsum("nl,nvl,nwl->vw", shares, parts, parts) - means.T @ means
        step = torch.linalg.solve(curvature + torch.eye(2, dtype=parts.dtype), slope)
        size = 1.0
        while value(weights - size * step) > value(weights) and size > SMALLEST_STEP:
            size /= 2
        weights = weights - size * step
        if float((size * step).abs().max()) < SMALLEST_STEP:
            break
    return Weights(*weights.tolist())
