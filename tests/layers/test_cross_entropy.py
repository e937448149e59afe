"""The loss computed in slices equals the loss computed from all logits at once."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from regard.layers import cross_entropy
from regard.layers.cross_entropy import linear_cross_entropy, smoothed_cross_entropy


def problem(
    tokens: int = 17, size: int = 6, vocabulary: int = 11, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(5)
    features = torch.randn(tokens, size, dtype=dtype, requires_grad=True)
    weight = torch.randn(vocabulary, size, dtype=dtype, requires_grad=True)
    return features, weight, torch.randint(vocabulary, (tokens,))


def slices_of(monkeypatch: pytest.MonkeyPatch, rows: int, weight: Tensor) -> None:
    size = rows * weight.size(0) * weight.element_size()
    monkeypatch.setattr(cross_entropy, "SLICE_BYTES", size)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [0, 1, 5, 17, 1000])
def test_value_and_gradients_are_those_of_the_reference(
    monkeypatch: pytest.MonkeyPatch, rows: int, smoothing: float
) -> None:
    features, weight, labels = problem()
    slices_of(monkeypatch, rows, weight)
    ours = linear_cross_entropy(features, weight, labels, smoothing)
    reference = smoothed_cross_entropy(features @ weight.T, labels, smoothing)
    assert_close(ours, reference)
    # An upstream gradient other than 1: training divides by the number of tokens.
    mine = torch.autograd.grad(ours * 0.37, (features, weight))
    theirs = torch.autograd.grad(reference * 0.37, (features, weight))
    assert_close(mine, theirs)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_bias_counts_like_any_other_weight(
    monkeypatch: pytest.MonkeyPatch, smoothing: float
) -> None:
    features, weight, labels = problem()
    bias = torch.randn(weight.size(0), dtype=torch.float64, requires_grad=True)
    slices_of(monkeypatch, 5, weight)
    ours = linear_cross_entropy(features, weight, labels, smoothing, bias)
    reference = smoothed_cross_entropy(features @ weight.T + bias, labels, smoothing)
    assert_close(ours, reference)
    mine = torch.autograd.grad(ours * 0.37, (features, weight, bias))
    assert_close(mine, torch.autograd.grad(reference * 0.37, (features, weight, bias)))


def test_smoothing_is_as_the_paper_says() -> None:
    features, weight, labels = problem()
    smoothing, vocabulary = 0.1, weight.size(0)
    wanted = torch.full((len(labels), vocabulary), smoothing / vocabulary, dtype=torch.float64)
    wanted[range(len(labels)), labels] += 1 - smoothing
    by_hand = -(wanted * (features @ weight.T).log_softmax(-1)).sum()
    assert_close(smoothed_cross_entropy(features @ weight.T, labels, smoothing), by_hand)
    assert_close(linear_cross_entropy(features, weight, labels, smoothing), by_hand)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_gradients(monkeypatch: pytest.MonkeyPatch, smoothing: float) -> None:
    features, weight, labels = problem(tokens=4, size=3, vocabulary=5)
    slices_of(monkeypatch, 3, weight)
    assert gradcheck(lambda x, w: linear_cross_entropy(x, w, labels, smoothing), (features, weight))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_single_precision_is_as_exact_as_the_reference(smoothing: float) -> None:
    features, weight, labels = problem(400, 64, 2000, torch.float32)
    exact = [value.detach().double().requires_grad_() for value in (features, weight)]
    truth = smoothed_cross_entropy(exact[0] @ exact[1].T, labels, smoothing)
    ours = linear_cross_entropy(features, weight, labels, smoothing)
    assert ours.item() == pytest.approx(truth.item(), rel=1e-6)
    mine = torch.autograd.grad(ours, (features, weight))
    for single, double in zip(mine, torch.autograd.grad(truth, exact), strict=True):
        assert_close(single.double(), double, rtol=1e-4, atol=1e-5)


def test_large_logits_overflow_nothing() -> None:
    features, weight, labels = problem(dtype=torch.float32)
    loss = linear_cross_entropy(features * 1000, weight, labels, 0.1)
    reference = smoothed_cross_entropy(features * 1000 @ weight.T, labels, 0.1)
    assert loss.item() == pytest.approx(reference.item(), rel=1e-5)
    loss.backward()
    assert features.grad.isfinite().all()


class Made(TorchDispatchMode):
    """Records the shapes of all tensors that are made inside the block."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, call: Any, _: Any, given: Any = (), named: Any = None) -> Any:
        result = call(*given, **(named or {}))
        self.shapes += [tuple(each.shape) for each in [result] if isinstance(each, Tensor)]
        return result


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_no_gradient_is_computed_when_none_is_wanted(off: Any) -> None:
    features, weight, labels = problem()
    expected = linear_cross_entropy(features, weight, labels, 0.1)
    with off(), Made() as made:
        total = linear_cross_entropy(features, weight, labels, 0.1)
    assert total.item() == expected.item()
    assert tuple(weight.shape) not in made.shapes
    with Made() as made:
        linear_cross_entropy(features, weight, labels, 0.1)
    assert tuple(weight.shape) in made.shapes


def test_only_what_asks_gets_a_gradient() -> None:
    features, weight, labels = problem()
    linear_cross_entropy(features.detach(), weight, labels, 0.1).backward()
    assert features.grad is None
    alone = weight.grad
    weight.grad = None
    linear_cross_entropy(features, weight, labels, 0.1).backward()
    assert_close(alone, weight.grad)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_no_tokens_no_loss(smoothing: float) -> None:
    features, weight, labels = problem(tokens=0)
    loss = linear_cross_entropy(features, weight, labels, smoothing)
    loss.backward()
    assert loss.item() == 0
    assert not weight.grad.any()
    assert features.grad.shape == (0, 6)


def test_half_precision_features_meet_the_weight_in_its_own_type() -> None:
    features, weight, labels = problem(dtype=torch.float32)
    half = features.detach().bfloat16().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = linear_cross_entropy(half, weight, labels)
    assert_close(loss, smoothed_cross_entropy(half.float() @ weight.T, labels, 0.0))
    loss.backward()
    assert half.grad.dtype == torch.bfloat16
    assert weight.grad.dtype == torch.float32
