"""Two models together: each has the weight that held-out examples give it."""

import torch
from torch.nn.functional import cross_entropy

from regard.evaluate.combination import combination, total_loss


def noisy(labels: torch.Tensor, strength: float, seed: int) -> torch.Tensor:
    """Logits that know something of the labels, and make mistakes of their own."""
    generator = torch.Generator().manual_seed(seed)
    known = strength * torch.nn.functional.one_hot(labels, 3).double()
    return known + torch.randn(len(labels), 3, generator=generator, dtype=torch.float64)


LABELS = torch.arange(600) % 3


def test_two_models_that_know_different_things_are_both_used() -> None:
    network, linear = noisy(LABELS, 1.5, 1), noisy(LABELS, 1.5, 2)
    found = combination(network, linear, LABELS)
    assert min(found) > 0.5
    both = found.network * network + found.linear * linear
    alone = (network.argmax(-1) == LABELS).sum(), (linear.argmax(-1) == LABELS).sum()
    assert (both.argmax(-1) == LABELS).sum() > max(alone)
    # No weights near them make the labels likelier, but for the weak prior.
    best = cross_entropy(both, LABELS, reduction="sum")
    for shift in (-0.2, 0.2):
        near = (found.network + shift) * network + found.linear * linear
        assert cross_entropy(near, LABELS, reduction="sum") > best - 0.1


def test_a_model_that_knows_nothing_is_left_out() -> None:
    nothing, linear = noisy(LABELS, 0.0, 3), noisy(LABELS, 2.0, 4)
    assert combination(nothing, linear, LABELS).network == 0
    assert combination(linear, nothing, LABELS).linear == 0
    assert combination(torch.zeros_like(linear), linear, LABELS).network == 0


def test_the_weights_calibrate() -> None:
    network, linear = noisy(LABELS, 1.5, 1), noisy(LABELS, 1.5, 2)
    usual, loud = (combination(k * network, k * linear, LABELS) for k in (1.0, 5.0))
    assert abs(5 * loud.network / usual.network - 1) < 0.15
    assert total_loss(network, linear, LABELS, usual) < len(LABELS)
