"""Dropout by bytes: the right share, the right mean, and the same mask in the backward pass."""

import pytest
import torch
from torch.autograd import gradcheck

from regard.layers.dropout import Dropout


@pytest.mark.parametrize("p", [0.004, 0.1, 0.25, 0.3, 0.5, 0.9])
def test_the_share_dropped_and_the_mean(p: float) -> None:
    torch.manual_seed(0)
    count = 1 << 18
    out = Dropout(p)(torch.ones(count))
    share = round(256 * p) / 256
    assert share == pytest.approx(p, abs=1 / 512)
    kept = out != 0
    assert out[kept].unique().tolist() == pytest.approx([1 / (1 - share)])
    # five standard deviations of a binomial
    margin = 5 * (share * (1 - share) / count) ** 0.5
    assert float((~kept).double().mean()) == pytest.approx(share, abs=margin)
    assert float(out.double().mean()) == pytest.approx(1, abs=margin / (1 - share))


def test_every_bit_of_the_random_words_is_fair() -> None:
    words = 4096
    ones = torch.ones(words, 8)
    counted = torch.zeros(words, 8, dtype=torch.long)
    for threshold in range(1, 256):
        torch.manual_seed(7)
        counted += (Dropout(threshold / 256)(ones) != 0).long()
    # A byte b is kept by the thresholds 1 … b, so its value is the number of times it was kept.
    bits = (counted[:, :, None] >> torch.arange(8)) & 1
    margin = 5 * 0.5 / words**0.5
    assert float((bits.double().mean(0) - 0.5).abs().max()) < margin
    # Neighbouring bytes, and neighbouring words, are not correlated.
    values = (counted.double() - 127.5) / 73.9
    assert float((values[:, :-1] * values[:, 1:]).mean(0).abs().max()) < 5 / words**0.5
    assert float((values[:-1] * values[1:]).mean(0).abs().max()) < 5 / words**0.5


@pytest.mark.parametrize("p", [0.001, 0.999])
def test_extreme_shares_neither_drop_nothing_nor_everything(p: float) -> None:
    torch.manual_seed(0)
    out = Dropout(p)(torch.ones(100_000))
    assert 0 < int((out == 0).sum()) < 100_000
    assert out.isfinite().all()


def test_nothing_is_dropped_in_use() -> None:
    x = torch.randn(4, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_the_seed_decides() -> None:
    x, layer = torch.ones(1000), Dropout(0.3)
    outs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        outs.append(layer(x))
    assert torch.equal(outs[0], outs[1])
    assert not torch.equal(outs[0], outs[2])
    assert not torch.equal(outs[2], layer(x))


def test_the_gradient_passes_where_the_number_did() -> None:
    torch.manual_seed(3)
    x = torch.ones(50, 7, requires_grad=True)
    out = Dropout(0.4)(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())

    def seeded(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(3)
        return Dropout(0.4)(x)

    assert gradcheck(seeded, torch.randn(5, 3, dtype=torch.float64, requires_grad=True))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (8,), (9,), (3, 5), (2, 0, 4)])
def test_any_number_of_numbers(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    out = Dropout(0.25)(torch.full(shape, 3.0))
    assert out.shape == shape
    assert set(out.flatten().tolist()) <= {0.0, 4.0}


def test_a_transposed_input_is_dropped_evenly() -> None:
    torch.manual_seed(0)
    x = torch.arange(1.0, 601.0).view(20, 30).T
    out = Dropout(0.5)(x)
    assert torch.equal(out[out != 0], 2 * x[out != 0])
    assert 200 < int((out == 0).sum()) < 400
