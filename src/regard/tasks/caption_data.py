"""Images and their captions, as tasks learn from them: found, decoded once, and split."""

import json
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from regard.data.captions import CaptionList, read_captions
from regard.data.image_cache import ImageCache
from regard.data.image_files import TEST, VALID, find_images, joined
from regard.data.image_split import ImageSplit, divided
from regard.data.lines import check_file, kind_of
from regard.errors import DataError, RunError
from regard.files import write_file
from regard.run import Run
from regard.tasks.image_data import decoded
from regard.tasks.image_sections import CaptionedImageSection, check_images
from regard.training.events import Event, Note, Phase

# Files of captions, by their endings; other files are images or archives of them.
CAPTION_FILES = (".tsv", ".csv", ".txt", ".json", ".jsonl", ".token")
# The split of images that were for validation, where others are named for it.
REPLACED = "validation that --valid replaces"


def captioned_images(data: CaptionedImageSection) -> CaptionList:
    """All images that a recipe names, with their captions; those of `valid` are of that split."""
    images = find_images(data.paths("train"))
    if data.valid:
        valid = find_images(data.paths("valid"), split=VALID)
        images = joined([images, valid])
    found = read_captions(data.captions_paths(), images, data.caption)
    if data.valid:
        given = len(images) - len(valid)
        first = [REPLACED if split == VALID else split for split in found.splits[:given]]
        found = replace(found, splits=[*first, *images.splits[given:]])
    return found


def test_captions(files: Sequence[Path], data: CaptionedImageSection) -> CaptionList:
    """Images and captions to score a run on: those of the test split, where there is one. Files of
    captions are among `files`, or else those of the run are taken.
    """
    tables = [path for path in files if is_caption_file(path)]
    places = [path for path in files if path not in tables]
    if not places:
        raise DataError(f"{files[0]}: captions without images; name the folder of images, too")
    images = find_images(places)
    own = [path for path in data.captions_paths() if path.exists()]
    found = read_captions(tables or own, images, data.caption)
    if TEST in found.splits:
        kept = {number for number, split in enumerate(found.splits) if split == TEST}
        chosen = [each for each in found.captions if each.image in kept]
        if not chosen:
            raise DataError(f"{files[0]}: no image of the test split has a caption")
        found = replace(found, captions=chosen)
    return found


def is_caption_file(path: Path) -> bool:
    return kind_of(path) in CAPTION_FILES


def check_test(path: Path) -> None:
    """Check that a file of captions, or a folder or archive of images, is there."""
    check_file(path) if is_caption_file(path) else check_images(path)


@dataclass(frozen=True)
class Captioned:
    """The captions of a run's images, decoded images, and which are for what."""

    found: CaptionList
    cache: ImageCache
    split: ImageSplit

    def captions(self, name: str) -> list[tuple[int, str]]:
        """The number of the image of each caption of a set, and its text."""
        rows = {int(number) for number in getattr(self.split, name)}
        return [(each.image, each.text) for each in self.found.captions if each.image in rows]


def read(run: Run, data: CaptionedImageSection, seed: int) -> Generator[Event, None, Captioned]:
    """Find the images and captions, decode the images, and split them."""
    yield Phase("Looking for images and captions")
    found = captioned_images(data)
    yield from map(Note, (*found.images.remarks, *found.remarks))
    cache = yield from decoded(found.images, run.training / "data" / "images", data)
    images = replace(found.images, labels=[], splits=found.splits)
    usable = [bool(each) for each in found.by_image]
    split = divided(images, cache, seed, data.held_out_share, data.held_out_images, usable)
    if not len(split.train) or not len(split.valid):
        raise data.too_few([str(each) for each in cache.digests[cache.readable]], "images")
    yield from (Note(each, warning=True) for each in split.remarks)
    return Captioned(found, cache, split)


@dataclass(frozen=True)
class Saved:
    """What a run remembers of its images and captions."""

    names: list[str]  # of all images, by their numbers
    rows: dict[str, list[int]]  # the images of each set
    valid_texts: list[str]

    @property
    def remark(self) -> str:
        return f"{len(self.rows['train']):,} and {len(self.rows['valid']):,} images"


def save(folder: Path, captioned: Captioned) -> None:
    texts = [text for _, text in captioned.captions("valid")]
    rows = {name: getattr(captioned.split, name).tolist() for name in ("train", "valid")}
    saved = Saved(captioned.found.images.names, rows, texts)
    write_file(folder / "captions.json", json.dumps(asdict(saved)).encode())


def saved(folder: Path) -> Saved:
    path = folder / "captions.json"
    try:
        return Saved(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        raise RunError(f"{path}: damaged; delete the folder {folder} and start again") from None
