"""Which images are trained on, and which are held out.

Splits that the data has are kept. Otherwise a share is held out by a hash of each file's bytes, so
that the same image is always on the same side, and copies of it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from regard.data.corpus import held_out
from regard.data.image_cache import ImageCache
from regard.data.image_files import SPLITS, TEST, TRAIN, VALID, ImageList, several

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ImageSplit:
    """Numbers of images; `train` or `valid` is empty if there are too few images."""

    train: Numbers = field(repr=False)
    valid: Numbers = field(repr=False)
    test: Numbers = field(repr=False)  # empty if the data has none
    remarks: list[str]


def divided(
    images: ImageList,
    cache: ImageCache,
    seed: int,
    share: float,
    most: int,
    usable: Sequence[bool] | None = None,
) -> ImageSplit:
    """Divide the images that can be read and are of use: with a label if there are labels, and
    those that `usable` says. `share` of them are held out, but `most` at most.
    """
    good = cache.readable.copy()
    if images.labels:
        good &= np.array([bool(each) for each in images.labels], bool)
    if usable is not None:
        good &= np.asarray(usable, bool)
    numbers = [int(each) for each in np.flatnonzero(good)]
    remarks: list[str] = []
    side = {each: images.splits[each] or TRAIN if images.splits else TRAIN for each in numbers}
    if others := sorted({name for name in side.values() if name not in SPLITS}):
        left = [images.names[each] for each, name in side.items() if name in others]
        remarks.append(f"{several(left, 'image')} of the split {' and '.join(others)}: left out")
    if VALID not in side.values():
        training = [each for each, name in side.items() if name == TRAIN]
        share = min(share, most / max(1, len(training)))
        for each in _held_out(training, images, cache, seed, share):
            side[each] = VALID
    _without_copies(side, images, cache, remarks)
    found = {
        name: np.array([each for each in numbers if side[each] == name], np.int64)
        for name in SPLITS
    }
    remarks += _new_classes(found, images)
    return ImageSplit(found[TRAIN], found[VALID], found[TEST], remarks)


def _held_out(
    training: list[int], images: ImageList, cache: ImageCache, seed: int, share: float
) -> set[int]:
    """A share of the training images, but never all of a class, and one at least."""
    chosen = {each for each in training if held_out(str(cache.digests[each]), seed, share)}
    if not chosen and len(training) > 1:
        first = min(cache.digests[training])
        chosen = {each for each in training if cache.digests[each] == first}
    if images.labels:
        kept = {images.labels[each] for each in training if each not in chosen}
        chosen = {each for each in chosen if images.labels[each] in kept}
    return chosen


def _without_copies(
    side: dict[int, str], images: ImageList, cache: ImageCache, remarks: list[str]
) -> None:
    """Leave images out of training that are held out as well, and say which are in two classes."""
    held = {int(cache.digests[each]): each for each, name in side.items() if name in (VALID, TEST)}
    first: dict[int, int] = {}
    copies, torn = [], []
    for each, name in side.items():
        digest = int(cache.digests[each])
        if name == TRAIN and digest in held:
            side[each] = ""
            copies.append(f"{images.names[each]} is {images.names[held[digest]]}")
        other = first.setdefault(digest, each)
        if images.labels and images.labels[other] != images.labels[each]:
            torn.append(f"{images.names[other]} and {images.names[each]}")
    if copies:
        remarks.append(
            f"{several(copies, 'image')} that are held out as well: left out of training"
        )
    if torn:
        remarks.append(f"{several(torn, 'image')} with two labels: the same file is in two classes")


def _new_classes(found: dict[str, Numbers], images: ImageList) -> list[str]:
    """Classes that are held out, but not in training."""
    if not images.labels:
        return []
    known = {images.labels[each] for each in found[TRAIN]}
    new: dict[str, str] = {}
    for each in (*found[VALID], *found[TEST]):
        if images.labels[each] not in known:
            new.setdefault(images.labels[each], images.names[each])
    shown = [f"{label}, as {name}" for label, name in sorted(new.items())]
    return [f"{several(shown, 'class')} held out only, so never learned"] if new else []
