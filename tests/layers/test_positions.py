"""Encodings of positions: they follow the formula and have the properties one expects."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.layers.positions import Learned, Rotary, Sinusoidal, rotate, sinusoids

FLOAT, DOUBLE = torch.zeros(()), torch.zeros((), dtype=torch.float64)


@pytest.mark.parametrize(("length", "size"), [(20, 512), (60, 32), (5, 7)])
def test_the_formula(length: int, size: int) -> None:
    table = sinusoids(length, size)
    assert table.shape == (length, size)
    for position in range(length):
        for column in range(size):
            angle = position / 10000 ** (column // 2 * 2 / size)
            wave = math.cos(angle) if column % 2 else math.sin(angle)
            assert float(table[position, column]) == pytest.approx(wave, abs=1e-12)


def test_low_columns_alternate_fast() -> None:
    turns = (sinusoids(60, 32).sign().diff(dim=0) != 0).sum(0)
    assert bool((turns[0::2].diff() <= 0).all())
    assert turns[0] > 10
    assert turns[-2] <= 1


def test_encodings_are_bounded_unique_and_the_same_each_time() -> None:
    table = sinusoids(5000, 32)
    assert float(table.abs().max()) <= 1
    assert float(torch.pdist(table[:1000]).min()) > 0.1
    assert len(table.unique(dim=0)) == 5000
    assert torch.equal(table, sinusoids(5000, 32))
    assert torch.equal(table[:60], sinusoids(60, 32))


@pytest.mark.parametrize("distance", [0, 1, 7, 50])
def test_products_and_distances_depend_only_on_how_far_apart(distance: int) -> None:
    table = sinusoids(200, 64)
    here, there = table[:100], table[distance : distance + 100]
    products = (here * there).sum(1)
    assert_close(products, products[:1].expand(100))
    steps = (here - there).norm(dim=1)
    assert_close(steps, steps[:1].expand(100))


@pytest.mark.parametrize("module", [Sinusoidal(8), Rotary(8), Learned(700, 8)])
def test_a_later_start_is_a_slice(module: torch.nn.Module) -> None:
    assert torch.equal(module(5, 3, FLOAT), module(0, 8, FLOAT)[5:])
    assert torch.equal(module(299, 1, FLOAT), module(0, 300, FLOAT)[299:])


@pytest.mark.parametrize("like", [FLOAT, DOUBLE, FLOAT.bfloat16()])
@pytest.mark.parametrize("kind", [Sinusoidal, Rotary])
def test_growing_past_the_table_changes_no_earlier_position(
    kind: type[Sinusoidal] | type[Rotary], like: Tensor
) -> None:
    module = kind(8).to(like)
    before = module(0, 256, like).clone()
    grown = module(0, 1000, like)
    assert grown.shape[0] == 1000
    assert torch.equal(grown[:256], before)
    assert grown.dtype == like.dtype
    assert torch.equal(grown, kind(8).to(like)(0, 1000, like))


def test_the_sinusoids_of_a_model_follow_the_formula_at_any_length() -> None:
    module = Sinusoidal(16)
    assert_close(module(0, 40, FLOAT), sinusoids(40, 16).float())
    assert_close(module(990, 10, FLOAT), sinusoids(1000, 16)[990:].float())
    assert module.state_dict() == {}


@pytest.mark.parametrize("kind", [Sinusoidal, Rotary])
def test_a_table_that_grew_in_inference_can_be_trained_with(
    kind: type[Sinusoidal] | type[Rotary],
) -> None:
    module = kind(8)
    with torch.inference_mode():
        module(0, 300, FLOAT)
    weight = torch.ones(300, 1, requires_grad=True)
    (weight * module(0, 300, FLOAT).flatten(1)).sum().backward()
    assert weight.grad is not None


def test_learned_positions_are_refused_past_the_last() -> None:
    module = Learned(10, 4)
    assert torch.equal(module(0, 10, FLOAT), module.table)
    with pytest.raises(ValueError, match=r"position 11 asked for.* 10 learned"):
        module(8, 3, FLOAT)


def test_rotated_scores_depend_only_on_how_far_apart() -> None:
    torch.manual_seed(0)
    rotation = Rotary(8).double()(0, 120, DOUBLE)
    query, key = torch.randn(2, 1, 1, 1, 8, dtype=torch.float64)
    queries = rotate(query.expand(1, 1, 120, 8), rotation)[0, 0]
    keys = rotate(key.expand(1, 1, 120, 8), rotation)[0, 0]
    scores = queries @ keys.T
    for distance in (-30, -1, 0, 1, 17):
        along = scores.diagonal(distance)
        assert_close(along, along[:1].expand_as(along), atol=1e-6, rtol=0)
    assert float(scores[0].std()) > 0.1


def test_rotation_keeps_lengths_and_leaves_the_first_position() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 50, 6, dtype=torch.float64)
    turned = rotate(x, Rotary(6).double()(0, 50, DOUBLE))
    assert torch.equal(turned[:, :, 0], x[:, :, 0])
    assert_close(turned.norm(dim=-1), x.norm(dim=-1), atol=1e-6, rtol=0)
    assert not torch.allclose(turned[:, :, 1:], x[:, :, 1:])


def test_rotation_turns_pairs_by_the_angle_of_the_formula() -> None:
    x = torch.tensor([1.0, 0.0, 1.0, 0.0]).expand(1, 1, 9, 4)
    turned = rotate(x, Rotary(4)(0, 9, FLOAT))[0, 0]
    for position in range(9):
        slow = position / 100
        waves = [math.cos(position), math.sin(position), math.cos(slow), math.sin(slow)]
        assert turned[position].tolist() == pytest.approx(waves, abs=1e-6)


def test_a_head_of_odd_size_cannot_be_rotated() -> None:
    with pytest.raises(ValueError, match="a head of 5 is odd"):
        Rotary(5)
