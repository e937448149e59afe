"""A linear map is the same whichever library computes it."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.layers import linear
from regard.layers.linear import Linear


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of what is given to a convolution, on a machine where that is faster."""
    shapes: list[tuple[int, ...]] = []
    convolve = torch.nn.functional.conv2d

    def spy(pixels: Tensor, *rest: Tensor) -> Tensor:
        shapes.append(tuple(pixels.shape))
        return convolve(pixels, *rest)

    monkeypatch.setattr(linear, "convolutions_are_faster", lambda: True)
    monkeypatch.setattr(torch.nn.functional, "conv2d", spy)
    return shapes


def values_and_gradients(layer: nn.Module, x: Tensor) -> list[Tensor]:
    x = x.clone().requires_grad_()
    y = layer(x)
    weights = torch.arange(y.numel()).view(y.shape) % 7 - 3.0
    return [y, *torch.autograd.grad((y * weights).sum(), [x, *layer.parameters()])]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(16, 16, 12), (40, 9, 12), (300, 1, 12)])
def test_a_convolution_gives_the_same(
    shape: tuple[int, ...], bias: bool, calls: list[tuple[int, ...]]
) -> None:
    torch.manual_seed(8)
    layer, plain = Linear(12, 20, bias), nn.Linear(12, 20, bias)
    plain.load_state_dict(layer.state_dict())
    for given in (torch.randn(shape), torch.randn(shape[1], shape[0], 12).transpose(0, 1)):
        ours, expected = values_and_gradients(layer, given), values_and_gradients(plain, given)
        assert ours[0].is_contiguous()
        for mine, theirs in zip(ours, expected, strict=True):
            assert_close(mine, theirs, atol=1e-3, rtol=1e-4)
    assert calls == [(shape[0], 12, shape[1], 1)] * 2


@pytest.mark.parametrize(
    "x",
    [torch.randn(15, 400, 4), torch.randn(20, 10, 4), torch.randn(4000, 4), torch.randn(4)],
    ids=lambda x: str(tuple(x.shape)),
)
def test_what_is_small_is_a_product(x: Tensor, calls: list[tuple[int, ...]]) -> None:
    layer = Linear(4, 6)
    assert torch.equal(layer(x), nn.Linear.forward(layer, x))
    assert calls == []


def test_other_precisions_are_a_product(calls: list[tuple[int, ...]]) -> None:
    layer, x = Linear(4, 6), torch.randn(32, 32, 4)
    with torch.autocast("cpu", torch.bfloat16, enabled=True):
        layer(x)
    layer.double()(x.double())
    assert calls == []


def test_the_type_of_what_is_given_decides(calls: list[tuple[int, ...]]) -> None:
    torch.manual_seed(8)
    layer, x = Linear(32, 24), torch.randn(32, 32, 32)
    narrow = layer(x.bfloat16())
    assert narrow.dtype == torch.bfloat16
    assert_close(narrow.float(), layer(x), rtol=0.05, atol=0.05)
    assert_close(layer.part(x, slice(8, 20)), layer(x)[..., 8:20])
    gradient = torch.autograd.grad(narrow.float().sum(), layer.weight)[0]
    assert gradient.dtype == torch.float32


def test_products_that_may_round_are_used_where_they_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    products = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = products.fp32_precision
    monkeypatch.setattr(linear, "convolutions_are_faster", lambda: True)
    for exact in (True, False):
        monkeypatch.setattr(linear, "exact_if_allowed_to_round", lambda exact=exact: exact)
        with linear.fast_products():
            assert (products.fp32_precision == "bf16") == exact
        assert products.fp32_precision == before


def test_what_rounds_is_noticed() -> None:
    linear.exact_if_allowed_to_round.cache_clear()
    a, b = torch.randn(2, 64, 64)
    with linear.allowed_to_round():
        rounded = (a @ b - a.double() @ b.double()).abs().max() > 1e-3
    assert linear.exact_if_allowed_to_round() == (not rounded)
