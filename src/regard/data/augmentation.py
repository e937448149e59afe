"""Changes to a batch of images that leave their labels true, drawn again for each update.

Images are [batch, channels, height, width], of 0 … 255 in any type. All draws come from PyTorch's
own generator, which training seeds for each update, so a resumed run continues with the same
images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


@dataclass(frozen=True)
class Augmentation:
    """How much images are changed; nothing by default."""

    shift: int = 0  # most pixels by which an image moves, up, down, left and right
    flip: bool = False  # whether every other image is mirrored, left and right
    brightness: float = 0.0  # most by which brightness and contrast change: 0.2 is 80 … 120 %
    cut_out: int = 0  # the side of a square that is hidden, in pixels
    cut_mix: float = 0.0  # the share of images that get a part of another image


class Augmented(NamedTuple):
    """Images, each with another one of the batch of which it may hold a part: the loss is
    share · loss(label) + (1 − share) · loss(label of the partner).
    """

    images: Tensor
    partner: Tensor  # [batch], numbers of images
    share: Tensor  # [batch], how much of an image is its own


def augment(images: Tensor, settings: Augmentation) -> Augmented:
    """All that the settings ask for, one after another."""
    if settings.shift or settings.flip:
        images = _moved(images, settings.shift, settings.flip)
    if settings.brightness:
        images = brightened(images, settings.brightness)
    if settings.cut_out:
        images = cut_out(images, settings.cut_out)
    if settings.cut_mix:
        return cut_mix(images, settings.cut_mix)
    count = len(images)
    return Augmented(
        images,
        torch.arange(count, device=images.device),
        torch.ones(count, device=images.device),
    )


def shifted(images: Tensor, most: int) -> Tensor:
    """Each image moved by up to `most` pixels; its edges are mirrored into what becomes free."""
    return _moved(images, most, flip=False)


def flipped(images: Tensor) -> Tensor:
    """Half of the images, by chance, mirrored left and right."""
    return _moved(images, 0, flip=True)


def _moved(images: Tensor, most: int, flip: bool) -> Tensor:
    """Rows and columns are chosen for each image, and all are taken at once."""
    count, _, height, width = images.shape
    device = images.device
    rows = torch.arange(height, device=device).expand(count, -1)
    columns = torch.arange(width, device=device).expand(count, -1)
    if most:
        rows = _mirrored(rows + _moves(count, min(most, height - 1), device), height)
        columns = _mirrored(columns + _moves(count, min(most, width - 1), device), width)
    if flip:
        turned = torch.rand(count, 1, device=device) < 0.5
        columns = torch.where(turned, columns.flip(1), columns)
    # With the channels last, what is taken lies together, and is what convolutions want.
    chosen = torch.arange(count, device=device)[:, None, None]
    taken = images.permute(0, 2, 3, 1)[chosen, rows[:, :, None], columns[:, None, :]]
    return taken.permute(0, 3, 1, 2)


def _moves(count: int, most: int, device: torch.device) -> Tensor:
    return torch.randint(-most, most + 1, (count, 1), device=device)


def _mirrored(at: Tensor, length: int) -> Tensor:
    """Numbers below 0 and from `length` on, mirrored at the first and the last."""
    at = at.abs()
    return torch.where(at >= length, 2 * (length - 1) - at, at)


def brightened(images: Tensor, most: float) -> Tensor:
    """Brightness and contrast of each image, each times 1 − most … 1 + most."""
    values = images.to(torch.float32, copy=True)
    light, contrast = 1 + most * (2 * torch.rand(2, len(images), 1, 1, 1, device=images.device) - 1)
    mean = values.mean((1, 2, 3), keepdim=True)
    values.mul_(contrast).add_(mean * (light - contrast)).clamp_(0, 255)
    return (values if images.is_floating_point() else values.round_()).to(images.dtype)


def cut_out(images: Tensor, side: int) -> Tensor:
    """A square of each image hidden under the batch's mean colour."""
    count, _, height, width = images.shape
    middle = torch.rand(2, count, device=images.device)
    reach = torch.full((count,), side / 2, device=images.device)
    hidden = _box(middle, reach, reach, height, width)
    mean = images.float().mean((0, 2, 3))[:, None, None]
    mean = mean if images.is_floating_point() else mean.round()
    return torch.where(hidden, mean.to(images.dtype), images)


def cut_mix(images: Tensor, share: float) -> Augmented:
    """A box of some images replaced by the same box of the next image in the batch."""
    count, _, height, width = images.shape
    device = images.device
    kept, middle = torch.rand(count, device=device), torch.rand(2, count, device=device)
    reach = (1 - kept).sqrt() / 2 * (torch.rand(count, device=device) < share)
    box = _box(middle, reach * height, reach * width, height, width)
    partner = torch.arange(count, device=device).roll(-1)
    mixed = torch.where(box, images[partner], images)
    return Augmented(mixed, partner, 1 - box.float().mean((1, 2, 3)))


def _box(middle: Tensor, tall: Tensor, wide: Tensor, height: int, width: int) -> Tensor:
    """Where a box is, [batch, 1, height, width], as much of it as lies within the image."""
    rows = torch.arange(height, device=middle.device) + 0.5
    columns = torch.arange(width, device=middle.device) + 0.5
    across = (rows - middle[0, :, None] * height).abs() < tall[:, None]
    along = (columns - middle[1, :, None] * width).abs() < wide[:, None]
    return (across[:, :, None] & along[:, None, :])[:, None]
