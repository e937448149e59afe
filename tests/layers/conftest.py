"""What the tests of layers share: random weights, and gradients against finite differences."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck
from torch.func import functional_call

Check = Callable[..., None]


def randomise(module: nn.Module) -> nn.Module:
    """Draw every parameter again, so that no bias is 0 and no gain is 1."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.4)
    return module


@pytest.fixture
def random_weights() -> Callable[[nn.Module], nn.Module]:
    torch.manual_seed(11)
    return randomise


@pytest.fixture
def check_gradients() -> Check:
    """Compare analytic with numeric gradients, for the inputs and all parameters of a module."""

    def check(module: nn.Module, *inputs: Tensor, **settings: object) -> None:
        names = [name for name, _ in module.named_parameters()]
        weights = [weight.detach().clone().requires_grad_() for weight in module.parameters()]
        given = [value.clone().requires_grad_() for value in inputs]

        def function(*values: Tensor) -> Tensor:
            parameters = dict(zip(names, values[len(given) :], strict=True))
            return functional_call(module, parameters, values[: len(given)], settings)

        assert gradcheck(function, (*given, *weights))

    return check
