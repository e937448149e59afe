"""The lowest point of convex functions."""

import torch
from torch import Tensor

from regard.training.minimise import lowest


def test_the_lowest_point_of_a_long_valley_is_found() -> None:
    generator = torch.Generator().manual_seed(1)
    widths = torch.logspace(0, 3, 30)
    centre = torch.randn(30, generator=generator)

    def bowl(point: Tensor) -> tuple[float, Tensor]:
        away = point - centre
        return float((widths * away.square()).sum()) / 2, widths * away

    found = lowest(bowl, torch.zeros(30), most=200, tolerance=1e-9)
    assert torch.allclose(found, centre, atol=1e-2)


def test_a_start_at_the_lowest_point_stays_there() -> None:
    start = torch.ones(3)
    found = lowest(lambda point: (float((point - 1).square().sum()), 2 * (point - 1)), start)
    assert torch.equal(found, start)
