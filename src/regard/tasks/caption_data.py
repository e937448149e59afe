"""Images and their captions as tasks learn from them: found, decoded once, split by image, and
written into the run's folder.
"""

import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.data.captions import CaptionList, read_captions
from regard.data.image_cache import open_cache
from regard.data.image_files import TEST, VALID, ImageList, find_images, joined
from regard.data.image_formats import READ_ENDINGS
from regard.data.image_split import divided
from regard.errors import DataError
from regard.files import write_file
from regard.run import Run
from regard.tasks.image_data import CachedImages, decoded
from regard.tasks.image_sections import CaptionedImageSection
from regard.training.events import Event, Note, Phase

if TYPE_CHECKING:
    from regard.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Described:
    """The images of one part of a run's data, and their captions."""

    rows: "np.ndarray[Any, np.dtype[np.int64]]"  # of the cache
    names: list[str]
    captions: list[list[str]]

    def texts(self) -> list[str]:
        return [text for each in self.captions for text in each]

    def encoded(self, tokenizer: "Tokenizer", longest: int) -> "EncodedCaptions":
        """The captions of 1 to `longest` pieces."""
        owners = np.repeat(np.arange(len(self.captions)), [len(each) for each in self.captions])
        texts = self.texts()
        ids = tokenizer.encode_batch(texts)
        kept = [place for place, each in enumerate(ids) if 1 <= len(each) <= longest]
        return EncodedCaptions(
            owners[kept].astype(np.int64),
            [texts[place] for place in kept],
            [ids[place] for place in kept],
            len(ids) - len(kept),
        )


class EncodedCaptions(NamedTuple):
    """Captions as pieces, each with its image."""

    owners: "np.ndarray[Any, np.dtype[np.int64]]"  # the number of the image within its part
    texts: list[str]
    ids: list[list[int]]
    left_out: int  # captions that are too long


@dataclass(frozen=True)
class DescribedImages:
    """The images of a run and their captions, from its folder."""

    images: CachedImages

    def part(self, name: str) -> Described:
        found = self.images.part(name)
        return Described(np.array(found["rows"], np.int64), found["names"], found["captions"])


def captioned(data: CaptionedImageSection) -> CaptionList:
    """All images that a recipe names, with their captions; those of `valid` are of that split."""
    images = find_images(data.paths("train"))
    if data.valid:
        images = joined([images, find_images(data.paths("valid"), split=VALID)])
    return read_captions(data.caption_paths(), unlabelled(images), data.caption)


def unlabelled(images: ImageList) -> ImageList:
    """Images whose folders say nothing of them."""
    return replace(images, labels=[])


def prepared(
    run: Run, data: CaptionedImageSection, seed: int
) -> Generator[Event, None, DescribedImages]:
    """The images of a run; the first start finds, decodes and splits them."""
    folder = run.training / "data"
    if run.has_data():
        return DescribedImages(CachedImages(open_cache(folder / "images"), folder))
    yield Phase("Looking for images and captions")
    found = captioned(data)
    yield from map(Note, (*found.images.remarks, *found.remarks))
    images = replace(found.images, splits=found.splits)
    cache = yield from decoded(images, folder / "images", data)
    usable = [bool(each) for each in found.by_image]
    split = divided(images, cache, seed, data.held_out_share, data.held_out_images, usable)
    if not len(split.train) or not len(split.valid):
        digests = cache.digests[cache.readable & np.array(usable)]
        raise data.too_few([str(each) for each in digests], "images with captions")
    yield from (Note(each, warning=True) for each in split.remarks)
    for name, rows in (("valid", split.valid), ("train", split.train)):
        part = {
            "rows": rows.tolist(),
            "names": [images.names[row] for row in rows],
            "captions": [found.by_image[row] for row in rows],
        }
        write_file(folder / f"{name}.json", json.dumps(part, ensure_ascii=False).encode())
    return DescribedImages(CachedImages(cache, folder))


def test_captions(files: Sequence[Path], data: CaptionedImageSection) -> CaptionList:
    """Images to describe, and what people wrote of them. Of images that have a test split, only
    that is taken. Without a file of captions, the run's own is read.
    """
    images = [path for path in files if is_images(path)]
    tables = [path for path in files if not is_images(path)]
    if not images:
        raise DataError(
            f"{files[0]}: captions without images; give the folder of the images as well"
        )
    if not tables:
        tables = [path for path in data.caption_paths() if path.exists()]
    found = read_captions(tables, unlabelled(find_images(images)), data.caption)
    kept = [
        number
        for number, texts in enumerate(found.by_image)
        if texts and (TEST not in found.splits or found.splits[number] == TEST)
    ]
    if not kept:
        raise DataError(f"{files[0]}: no image to test on has a caption; give captions of them")
    numbers = {number: place for place, number in enumerate(kept)}
    return CaptionList(
        [
            replace(each, image=numbers[each.image])
            for each in found.captions
            if each.image in numbers
        ],
        found.images.subset(kept),
        [found.splits[number] for number in kept] if found.splits else [],
        found.remarks,
    )


def is_images(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() in (".npz", *READ_ENDINGS)
