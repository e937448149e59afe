"""The temperature that calibrates probabilities."""

import math

from torch import Tensor


def fitted_temperature(logits: Tensor, labels: Tensor) -> float:
    """The temperature T that makes the labels likeliest (Guo et al. 2017) under a normal prior of
    log T with mean 0 and standard deviation 1: a few examples that are all right must not make a
    model certain of everything. Found by bisection.
    """

    def slope(inverse: float) -> float:
        """The derivative of the loss by log 1/T."""
        scaled = (logits * inverse).log_softmax(-1)
        chosen = logits.gather(1, labels[:, None])[:, 0]
        return inverse * float(((scaled.exp() * logits).sum(-1) - chosen).sum()) + math.log(inverse)

    low, high = math.log(0.01), math.log(100.0)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(math.exp(middle)) > 0 else (middle, high)
    return math.exp(-(low + high) / 2)
