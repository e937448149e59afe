"""Pixels are standardised by statistics that belong to the model."""

import torch
from torch.testing import assert_close

from regard.layers.images import Standardise, as_grid


def pixels(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)


def test_the_data_has_mean_0_and_variance_1_in_each_channel() -> None:
    images = pixels(120, 3, 6, 6) // torch.tensor([1, 2, 5])[:, None, None]
    layer = Standardise(3)
    layer.initialise(images)
    values = layer(images).transpose(0, 1).flatten(1)
    assert_close(values.mean(1), torch.zeros(3), atol=1e-5, rtol=0)
    assert_close(values.std(1, correction=0), torch.ones(3), atol=1e-5, rtol=0)


def test_the_statistics_are_saved() -> None:
    assert Standardise(3).state_dict().keys() == {"mean", "std"}


def test_an_empty_channel_stays_finite() -> None:
    layer = Standardise(1)
    layer.initialise(torch.full((4, 1, 2, 2), 9, dtype=torch.uint8))
    assert not layer(torch.full((1, 1, 2, 2), 9, dtype=torch.uint8)).any()


def test_types_and_layouts_of_images_give_the_same() -> None:
    layer, images = Standardise(3), pixels(2, 3, 4, 6)
    expected = layer(images)
    assert expected.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(layer(images.float()), expected)
    assert torch.equal(layer(images.contiguous(memory_format=torch.channels_last)), expected)


def test_a_grid_goes_row_by_row() -> None:
    maps = torch.arange(12).view(1, 1, 3, 4)
    assert as_grid(maps).flatten().tolist() == list(range(12))
