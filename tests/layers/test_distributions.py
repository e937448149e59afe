"""What must hold of every distribution of a value, and figures that scipy agrees with."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.layers.choices import Head
from regard.layers.distributions import DISTRIBUTIONS, Student, student_scores

LEVELS = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
each_head = pytest.mark.parametrize("head", list(DISTRIBUTIONS))


def parameters(head: Head, *shape: int) -> Tensor:
    drawn = torch.randn(*shape, DISTRIBUTIONS[head].size, generator=torch.manual_seed(3))
    return drawn.double()


@each_head
def test_quantiles_never_fall(head: Head) -> None:
    found = DISTRIBUTIONS[head].quantiles(parameters(head, 50, 4), LEVELS)
    assert found.shape == (50, 4, len(LEVELS))
    assert bool((found.diff(dim=-1) >= 0).all())


@each_head
def test_draws_are_below_a_quantile_as_often_as_it_says(head: Head) -> None:
    torch.manual_seed(0)
    one = parameters(head, 1).sort(-1).values
    many = one.expand(40_000, -1)
    drawn = DISTRIBUTIONS[head].sample(many)
    quantiles = DISTRIBUTIONS[head].quantiles(one, LEVELS)[0]
    shares = (drawn[:, None] < quantiles).double().mean(0)
    assert_close(shares, torch.tensor(LEVELS).double(), rtol=0, atol=0.01)


@each_head
def test_the_loss_is_least_where_the_values_are(head: Head) -> None:
    """By gradient descent from anywhere, the median arrives at that of the data."""
    torch.manual_seed(0)
    values = 3 + 0.5 * torch.randn(2000)
    found = torch.zeros(DISTRIBUTIONS[head].size, requires_grad=True)
    optimizer = torch.optim.Adam([found], lr=0.05)
    for _ in range(400):
        optimizer.zero_grad()
        DISTRIBUTIONS[head].loss(found.expand(2000, -1), values).mean().backward()
        optimizer.step()
    low, middle, high = DISTRIBUTIONS[head].quantiles(found.detach(), (0.1, 0.5, 0.9))
    assert float(middle) == pytest.approx(3, abs=0.05)
    assert float(high - low) == pytest.approx(2 * 1.2816 * 0.5, rel=0.06)
    assert float(DISTRIBUTIONS[head].mean(found.detach())) == pytest.approx(3, abs=0.05)


def test_densities_are_those_of_torch() -> None:
    y = torch.linspace(-3, 5, 30).double()
    for head in ("gaussian", "student"):
        found = parameters(head, 30)
        width = torch.nn.functional.softplus(found[:, 1]) + 1e-3
        if head == "gaussian":
            theirs = torch.distributions.Normal(found[:, 0], width)
        else:
            theirs = torch.distributions.StudentT(Student().split(found)[2], found[:, 0], width)
        assert_close(DISTRIBUTIONS[head].loss(found, y), -theirs.log_prob(y))


def test_quantiles_of_students_t_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    degrees = np.array([2.1, 3.0, 5.5, 30.0, 400.0])
    found = student_scores(degrees, LEVELS)
    expected = stats.t.ppf(np.array(LEVELS), degrees[:, None])
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)


def test_a_quantile_between_two_levels_lies_between_them() -> None:
    found = torch.arange(15.0)
    at = DISTRIBUTIONS["quantiles"].quantiles(found, (0.1, 0.15, 0.2, 0.5))
    assert at.tolist() == pytest.approx([2, at[1].item(), 3, 7])
    assert 2 < float(at[1]) < 3


def test_no_value_makes_a_density_infinite() -> None:
    sharp = torch.tensor([[0.0, -100.0, -100.0]])
    for head in ("gaussian", "student"):
        loss = DISTRIBUTIONS[head].loss(sharp[:, : DISTRIBUTIONS[head].size], torch.zeros(1))
        assert math.isfinite(float(loss))
