"""What images there are: in folders, and in .npz files.

    photos/<class>/a.jpg               the folder's name is the label
    photos/train/<class>/a.jpg         and train, val, valid, validation, dev and test are splits
    photos/a.jpg                       images without labels
    photos.npz                         see `data/image_archives.py`

An image keeps its number in the list, whatever cannot be read, so that nothing is shifted. Names
are compared and sorted as they are written: never by the order in which a disk gives them.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Protocol

from regard.data import image_archives
from regard.data.image_formats import OTHER_ENDINGS, READ_ENDINGS, kind_of_image
from regard.data.images import Pixels, content
from regard.errors import DataError
from regard.small_files import open_regular

TRAIN, VALID, TEST = SPLITS = ("train", "valid", "test")
SPLIT_NAMES = {
    **dict.fromkeys(("train", "training"), TRAIN),
    **dict.fromkeys(("val", "valid", "validation", "dev"), VALID),
    **dict.fromkeys(("test", "testing"), TEST),
}
# Folders and files that programs leave, beside those whose names begin with a dot.
LEFT_BY_PROGRAMS = {"__macosx", "__pycache__", "thumbs.db", "desktop.ini", "@eadir", "$recycle.bin"}
MOST_SHOWN = 3


class Entry(Protocol):
    """Where one image is."""

    def read(self) -> bytes | Pixels: ...

    def stamp(self) -> str:
        """What changes when the image does; known without reading it."""


@dataclass(frozen=True, slots=True)
class ImageFile:
    path: Path

    def read(self) -> bytes:
        return content(self.path)

    def stamp(self) -> str:
        try:
            status = self.path.stat()
        except OSError:
            return "missing"
        return f"{status.st_size} {status.st_mtime_ns}"


@dataclass(frozen=True)
class ImageList:
    """Images, with what their source knows of them: `labels` and `splits` are empty, or have one
    for each image, which may be "".
    """

    names: list[str]  # "cats/a.jpg" or "train.npz:17", as errors show them
    entries: list[Entry] = field(repr=False)
    labels: list[str] = field(default_factory=list)
    splits: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # what was ignored, and why

    def __len__(self) -> int:
        return len(self.names)

    def read(self, number: int) -> bytes | Pixels:
        """The content of a file, or pixels."""
        return self.entries[number].read()

    @cached_property
    def classes(self) -> list[str]:
        """The labels that occur, sorted by name, or as numbers if all are."""
        found = set(self.labels) - {""}
        numbers = all(each.isascii() and each.isdecimal() for each in found)
        return sorted(found, key=lambda each: (int(each), each) if numbers else (0, each))

    def subset(self, numbers: Sequence[int]) -> ImageList:
        return ImageList(
            [self.names[each] for each in numbers],
            [self.entries[each] for each in numbers],
            [self.labels[each] for each in numbers] if self.labels else [],
            [self.splits[each] for each in numbers] if self.splits else [],
            self.remarks,
        )

    def fingerprint(self) -> str:
        """What is the same while names and files are; no image is read for it."""
        digest = hashlib.sha256()
        for name, entry in zip(self.names, self.entries, strict=True):
            digest.update(f"{name}\0{entry.stamp()}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()


def find_images(paths: Sequence[Path], split: str = "") -> ImageList:
    """The images of folders, .npz files and single files, one after another. `split` is what all
    of them are for, if that is known.
    """
    if not paths:
        raise DataError("no images are given; give a folder or a .npz file")
    lists = [_found(path) for path in paths]
    told = [SPLIT_NAMES.get(path.stem.lower(), "") for path in paths]
    if len(paths) > 1 and TRAIN in told and all(told):  # train.npz and test.npz
        lists = [joined([each], name) for each, name in zip(lists, told, strict=True)]
    found = joined(lists, split)
    if not found.names:
        where = ", ".join(map(str, paths))
        raise DataError(
            f"{where}: no images found; images end in {', '.join(READ_ENDINGS[:5])} and the like"
        )
    return found


def joined(lists: Sequence[ImageList], split: str = "") -> ImageList:
    """Lists one after another. A split that only some of them know is "" for the others."""
    labelled = any(each.labels for each in lists)
    divided = bool(split) or any(each.splits for each in lists)
    found = ImageList([], [])
    for each in lists:
        nothing = [""] * len(each)
        found.names.extend(each.names)
        found.entries.extend(each.entries)
        found.labels.extend((each.labels or nothing) if labelled else [])
        found.splits.extend(
            ([split] * len(each) if split else each.splits or nothing) if divided else []
        )
        found.remarks.extend(each.remarks)
    return found


def _found(path: Path) -> ImageList:
    if path.is_dir():
        return _in_folder(path)
    if path.suffix.lower() == ".npz":
        archive = image_archives.open_archive(path)
        return ImageList(archive.names, list(archive.entries), archive.labels, archive.splits)
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder; check the path")
    if path.suffix.lower() in (".zip", ".tar", ".tgz", ".gz", ".7z", ".rar", ".parquet"):
        raise DataError(f"{path}: this is an archive; unpack it, and give the folder")
    return ImageList([path.name], [ImageFile(path)])


def _in_folder(root: Path) -> ImageList:
    ignored: Counter[str] = Counter()
    empty: list[str] = []
    found = sorted(_walk(root, ignored, empty), key=lambda each: each.parts)
    tops = {each.parts[0].lower() for each in found if len(each.parts) > 1}
    divided = "train" in tops and tops <= SPLIT_NAMES.keys()
    inner = [each for each in found if not divided or len(each.parts) > 1]
    splits = [SPLIT_NAMES[each.parts[0].lower()] for each in inner] if divided else []
    labels = [
        printable(each.parts[divided]) if len(each.parts) > divided + 1 else "" for each in inner
    ]
    remarks = _ignored(root, ignored, empty)
    if outside := [str(each) for each in found if divided and len(each.parts) == 1]:
        remarks.append(
            f"{root}: {several(outside, 'image')} beside the folders train, valid and test "
            f"{'is' if len(outside) == 1 else 'are'} left out"
        )
    return ImageList(
        [printable(str(each)) for each in inner],
        [ImageFile(root / each) for each in inner],
        labels if any(labels) else [],
        splits,
        remarks,
    )


def _walk(root: Path, ignored: Counter[str], empty: list[str]) -> Iterator[PurePosixPath]:
    """Image files, by their paths within a folder. A folder that is met again, by a link, ends."""
    seen: set[tuple[int, int]] = set()

    def refuse(error: OSError) -> None:
        raise DataError(f"{error.filename}: cannot be read ({error.strerror}); check the folder")

    for folder, folders, files in os.walk(root, onerror=refuse, followlinks=True):
        status = os.stat(folder)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        hidden = [name for name in folders if is_hidden(name)]
        ignored["hidden folders"] += len(hidden)
        folders[:] = sorted(set(folders) - set(hidden))
        within = PurePosixPath(Path(folder).relative_to(root).as_posix())
        count = 0
        for name in sorted(files):
            if is_hidden(name):
                continue
            if _is_image(Path(folder) / name):
                count += 1
                yield within / name
            else:
                ignored[Path(name).suffix.lower() or "without ending"] += 1
        if not count and not folders and folder != os.fspath(root):
            empty.append(str(within))


def printable(name: str) -> str:
    """A name of a file as a line of text can hold it: a disk allows line breaks, and any bytes."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def is_hidden(name: str) -> bool:
    """Whether a file or folder is one that programs leave: .DS_Store, .ipynb_checkpoints."""
    return name.startswith((".", "._")) or name.lower() in LEFT_BY_PROGRAMS


def is_image_name(text: str) -> bool:
    """Whether a word on a command line means an image: by its ending, or since it is a file."""
    ending = Path(text).suffix.lower()
    if ending in READ_ENDINGS or ending in OTHER_ENDINGS:
        return True
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name
        return False


def _is_image(path: Path) -> bool:
    """Whether a file is meant to be an image: by its ending, or its content if it has none."""
    ending = path.suffix.lower()
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
    except OSError:  # a link that leads nowhere
        return ending in READ_ENDINGS
    if ending in READ_ENDINGS or ending in OTHER_ENDINGS:
        return True
    if ending and not ending[1:].isdecimal():
        return False
    try:
        with open_regular(path, links=True) as file:
            return kind_of_image(file.read(64)) != ""
    except OSError:
        return False


def _ignored(root: Path, ignored: Counter[str], empty: list[str]) -> list[str]:
    remarks = []
    hidden = ignored.pop("hidden folders", 0)
    if others := [f"{count:,} {ending}" for ending, count in ignored.most_common(MOST_SHOWN)]:
        more = ", …" if len(ignored) > MOST_SHOWN else ""
        total = sum(ignored.values())
        one = total == 1
        remarks.append(
            f"{root}: {total:,} other file{'' if one else 's'} {'is' if one else 'are'} ignored "
            f"({', '.join(others)}{more})"
        )
    if hidden:
        remarks.append(
            f"{root}: {hidden:,} hidden folder{'s are' if hidden > 1 else ' is'} ignored"
        )
    if empty:
        remarks.append(f"{root}: {several(empty, 'folder')} without images")
    return remarks


def several(names: Sequence[str], what: str) -> str:
    """3 folders (a, b, c)."""
    shown = ", ".join(names[:MOST_SHOWN]) + (", …" if len(names) > MOST_SHOWN else "")
    plural = "" if len(names) == 1 else "es" if what.endswith("s") else "s"
    return f"{len(names):,} {what}{plural} ({shown})"


def check_classes(images: ImageList) -> list[str]:
    """Refuse images of fewer than two classes; what is odd about the classes otherwise."""
    if not images.classes:
        raise DataError(
            f"{images.names[0]}: the images have no labels; put them into a folder for each class, "
            "or give a table with --labelled"
        )
    if len(images.classes) == 1:
        raise DataError(
            f"{images.names[0]}: all images are of one class ({images.classes[0]}); give two or "
            "more, each in a folder of its own"
        )
    remarks = []
    if without := [
        name for name, label in zip(images.names, images.labels, strict=True) if not label
    ]:
        remarks.append(f"{several(without, 'image')} without a label: left out")
    counts = Counter(images.labels)
    if single := [name for name in images.classes if counts[name] == 1]:
        remarks.append(f"{several(single, 'class')} of one image only")
    return remarks
