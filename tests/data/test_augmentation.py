"""Images are changed by chance, and what must stay stays."""

import pytest
import torch

from regard.data.augmentation import (
    Augmentation,
    augment,
    brightened,
    cut_mix,
    cut_out,
    flipped,
    shifted,
)

ALL = Augmentation(shift=2, flip=True, brightness=0.3, cut_out=4, cut_mix=0.5)


@pytest.fixture(params=[torch.uint8, torch.float32], ids=str)
def images(request: pytest.FixtureRequest) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randint(0, 256, (16, 3, 8, 10)).to(request.param)


def test_the_same_seed_makes_the_same_images(images: torch.Tensor) -> None:
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(augment(images, ALL))
    assert all(map(torch.equal, found[0], found[1]))
    assert not torch.equal(found[0].images, found[2].images)
    assert found[0].images.dtype == images.dtype
    assert found[0].images.shape == images.shape


def test_nothing_is_changed_by_default(images: torch.Tensor) -> None:
    found = augment(images, Augmentation())
    assert found.images is images
    assert found.partner.tolist() == list(range(16))
    assert (found.share == 1).all()


def test_a_shift_is_a_crop_of_the_mirrored_image(images: torch.Tensor) -> None:
    wide = torch.nn.functional.pad(images.float(), (2, 2, 2, 2), mode="reflect")
    moved = shifted(images, 2).float()
    places = set()
    for number in range(16):
        crops = {
            (top, left): wide[number, :, top : top + 8, left : left + 10]
            for top in range(5)
            for left in range(5)
        }
        same = [place for place, crop in crops.items() if torch.equal(crop, moved[number])]
        assert len(same) == 1
        places.update(same)
    assert len(places) > 5


def test_a_shift_may_be_larger_than_the_image() -> None:
    image = torch.arange(4.0).reshape(1, 1, 2, 2)
    assert shifted(image, 99).shape == image.shape
    assert shifted(image[..., :1], 99).shape == (1, 1, 2, 1)


def test_some_images_are_mirrored(images: torch.Tensor) -> None:
    found = flipped(images)
    turned = [torch.equal(a, b.flip(-1)) for a, b in zip(found, images, strict=True)]
    same = [torch.equal(a, b) for a, b in zip(found, images, strict=True)]
    assert all(a != b for a, b in zip(turned, same, strict=True))
    assert 0 < sum(turned) < 16


def test_brightness_keeps_the_range(images: torch.Tensor) -> None:
    found = brightened(images, 0.5).float()
    assert found.min() >= 0
    assert found.max() <= 255
    means = images.float().mean((1, 2, 3))
    assert (found.mean((1, 2, 3)) - means).abs().max() > 10
    grey = torch.full((64, 1, 2, 2), 100.0)
    levels = brightened(grey, 0.2)[:, 0, 0, 0]
    assert 80 <= levels.min() < 90 < 110 < levels.max() <= 120


def test_a_square_is_hidden(images: torch.Tensor) -> None:
    found = cut_out(images, 4)
    mean = images.float().mean((0, 2, 3))
    changed = (found != images).any(1).sum((1, 2))
    assert changed.max() <= 16
    assert changed.max() >= 12
    hidden = (found != images).any(1)
    close = (found.float() - mean[:, None, None]).abs().amax(1)
    assert (close[hidden] <= 0.5).all()


def test_a_mixture_says_how_much_is_whose() -> None:
    images = torch.arange(64.0)[:, None, None, None].expand(-1, 3, 20, 20)
    found = cut_mix(images, 0.5)
    own = (found.images == images).all(1).float().mean((1, 2))
    other = (found.images == images[found.partner]).all(1).float().mean((1, 2))
    torch.testing.assert_close(found.share, own)
    torch.testing.assert_close(own + other, torch.ones(64))
    assert 10 < (found.share == 1).sum() < 60
    assert found.share.min() < 0.7


def test_moved_images_have_their_channels_last(images: torch.Tensor) -> None:
    found = shifted(images.to(memory_format=torch.channels_last), 1)
    assert found.is_contiguous(memory_format=torch.channels_last)
