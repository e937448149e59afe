"""Images as tasks learn from them: found, decoded once into a cache, and split."""

import json
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.checks.report import spread
from regard.configs.image import ImageShape
from regard.data.image_archives import ArchivedImage
from regard.data.image_cache import ImageCache, build, open_cache
from regard.data.image_files import (
    TEST,
    VALID,
    ImageList,
    check_classes,
    find_images,
    joined,
)
from regard.data.image_split import divided
from regard.data.image_tables import labelled
from regard.data.images import decode
from regard.data.shapes import shapes
from regard.errors import DataError
from regard.files import write_file
from regard.reporter import Reporter
from regard.run import Run
from regard.small_files import required_json
from regard.tasks.image_sections import (
    AugmentationSection,
    ImageSection,
    LabelledImageSection,
)
from regard.tasks.image_sizes import ImageFacts
from regard.tasks.task import Sizes
from regard.training.events import Event, Note, Phase
from regard.training.progress import reported

if TYPE_CHECKING:
    from torch import Tensor

    from regard.data.image_batches import Change, LabelledImages

# Images that are looked at to choose sizes, and that a first layer is fitted to.
LOOKED_AT = 60
SAMPLE = 2000
# The most bytes of a file that lists the images of a part: some ten million of them.
LARGEST_PART = 256 << 20


def shape_of(sizes: Sizes) -> ImageShape:
    return ImageShape(sizes["height"], sizes["width"], sizes["channels"])


def sizes_of(data: ImageSection) -> dict[str, int]:
    return {"height": data.image_size, "width": data.image_size, "channels": data.channels}


def labelled_images(data: LabelledImageSection) -> ImageList:
    """All images that a recipe names, with their labels; those of `valid` are of that split."""
    if data.builtin:
        return shapes()
    found = find_images(data.paths("train"))
    if table := data.labels_path():
        found = labelled(found, table)
    if data.valid:
        valid = find_images(data.paths("valid"), split=VALID)
        if table and not valid.labels:
            valid = labelled(valid, table)
        kept = [i for i in range(len(found)) if not found.splits or found.splits[i] != VALID]
        found = joined([found.subset(kept), valid])
    return replace(found, remarks=[*found.remarks, *check_classes(found)])


def test_images(files: Sequence[Path], data: LabelledImageSection) -> ImageList:
    """Images to score a classifier on: those of the test split, where there is one. Without files,
    those that regard draws.
    """
    found = shapes() if not files and data.builtin else find_images(files)
    table = data.labels_path()
    if not found.labels and table and table.exists():
        found = labelled(found, table)
    if TEST in found.splits:
        found = found.subset([i for i, split in enumerate(found.splits) if split == TEST])
    kept = [i for i, label in enumerate(found.labels) if label]
    if not kept:
        raise DataError(
            f"{files[0]}: the images have no labels; put each into a folder named after its label"
        )
    return found.subset(kept)


def changes(settings: AugmentationSection, labels: int) -> "Change | None":
    """How a batch is changed at random, with the labels of images that are mixed."""
    from torch import Tensor
    from torch.nn.functional import one_hot

    from regard.data.augmentation import Augmentation, augment

    wanted = Augmentation(**settings.model_dump())
    if wanted == Augmentation():
        return None

    def change(images: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
        found = augment(images, wanted)
        if not wanted.cut_mix:
            return found.images, numbers
        own = one_hot(numbers, labels).float()
        share = found.share[:, None]
        return found.images, share * own + (1 - share) * own[found.partner]

    return change


@dataclass(frozen=True)
class CachedImages:
    """The images of a run, decoded, and which of them are for what."""

    cache: ImageCache
    folder: Path

    def part(self, name: str) -> dict[str, Any]:
        path = self.folder / f"{name}.json"
        found: dict[str, Any] = required_json(path, LARGEST_PART)
        return found

    def rows(self, name: str) -> NDArray[np.int64]:
        return np.array(self.part(name)["rows"], np.int64)

    def labelled(self, name: str, change: "Change | None" = None) -> "LabelledImages":
        from regard.data.image_batches import LabelledImages

        part = self.part(name)
        rows, labels = (np.array(part[each], np.int64) for each in ("rows", "labels"))
        return LabelledImages(self.cache.pixels, rows, labels, part["names"], change)

    def sample(self) -> "Tensor":
        """Some of the images to learn from, [N, C, H, W], to fit a first layer to."""
        import torch

        rows = sorted(spread(self.rows("train").tolist(), SAMPLE))
        return torch.from_numpy(self.cache.pixels[rows]).permute(0, 3, 1, 2)


def prepared(
    run: Run, data: LabelledImageSection, seed: int
) -> Generator[Event, None, CachedImages]:
    """The images of a run; the first start finds, decodes and splits them."""
    folder = run.training / "data"
    if run.has_data():
        return CachedImages(open_cache(folder / "images"), folder)
    yield Phase("Looking for images")
    images = labelled_images(data)
    yield from map(Note, images.remarks)
    cache = yield from decoded(images, folder / "images", data)
    split = divided(images, cache, seed, data.held_out_share, data.held_out_images)
    if not len(split.train) or not len(split.valid):
        raise data.too_few([str(each) for each in cache.digests[cache.readable]], "images")
    yield from (Note(each, warning=True) for each in split.remarks)
    run.save_labels(images.classes)
    numbers = {name: number for number, name in enumerate(images.classes)}
    for name, rows in (("valid", split.valid), ("train", split.train)):
        part = {
            "rows": rows.tolist(),
            "labels": [numbers[images.labels[row]] for row in rows],
            "names": [images.names[row] for row in rows],
        }
        write_file(folder / f"{name}.json", json.dumps(part).encode())
    return CachedImages(cache, folder)


def decoded(
    images: ImageList, folder: Path, data: ImageSection
) -> Generator[Event, None, ImageCache]:
    """Decode images, with reports on how far that has come."""

    def work(reporter: Reporter) -> ImageCache:
        return build(images, folder, data.image_size, data.fit, data.channels, reporter)

    cache = yield from reported("Decoding the images", work)
    if remark := cache.remark():
        yield Note(remark, warning=True)
    return cache


def look_at(images: ImageList) -> ImageFacts:
    """What images are like, by a few of them."""
    sides, colours = [], 0
    for number in spread(range(len(images)), LOOKED_AT):
        with suppress(DataError):
            pixels = full(images.read(number), images.names[number])
            sides.append(min(pixels.shape[:2]))
            colours += bool((pixels != pixels[..., :1]).any())
    if not sides:
        raise DataError(f"{images.names[0]}: none of the images can be read")
    learned = sum(split not in (VALID, TEST) for split in images.splits) or len(images)
    signs = are_signs(images, grey=not colours)
    return ImageFacts(learned, int(np.median(sides)), grey=not colours, are_signs=signs)


def are_signs(images: ImageList, grey: bool) -> bool:
    """Whether the images seem to show letters or digits: each label is one. In an archive, digits
    number any classes; there they count as labels of digits only if the images are grey.
    """
    if not images.classes or any(len(label) > 1 for label in images.classes):
        return False
    numbered = isinstance(images.entries[0], ArchivedImage) and all(
        map(str.isdecimal, images.classes)
    )
    return grey or not numbered


def full(source: bytes | NDArray[np.uint8], place: str) -> NDArray[np.uint8]:
    """All pixels of an image in colours, [height, width, 3]."""
    if isinstance(source, bytes):
        return decode(source, place, 3)
    return source if source.ndim == 3 else np.repeat(source[..., None], 3, -1)
