"""Images in .npz files, as NumPy writes them: read without pickle, and only when they are needed.

    x_train, y_train, x_test, y_test   pixels and numbers of labels (also x_valid, y_valid)
    data, offset[, label]              image files one after another, cut at the offsets
    images | x | data, labels | y | label   one array of pixels

Pixels are uint8, [images, height, width] or [images, height, width, channels]. An array of texts
`classes` or `label_names` gives the labels their names; labels may be texts themselves.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from regard.errors import DataError

# The names of arrays, and which split they are.
PARTS = {
    **dict.fromkeys(("train",), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "valid"),
    **dict.fromkeys(("test",), "test"),
}
IMAGES = ("images", "image", "x", "data", "pixels", "arr_0")
LABELS = ("labels", "label", "y", "target", "targets", "arr_1")
NAMES = ("classes", "class_names", "label_names", "names")
OFFSETS = ("offset", "offsets")
# Pixels of drawings get a hundred times smaller; what gets smaller still is a trap.
LARGEST_RATIO = 1000
SMALLEST_SUSPECT_BYTES = 500_000_000
MOST_BYTES = 64_000_000_000


@dataclass(frozen=True)
class ArchivedImage:
    archive: Archive
    number: int
    part: str  # the array of pixels, or of files
    offsets: str = ""  # the array that says where files begin; "" for pixels

    def read(self) -> bytes | npt.NDArray[np.uint8]:
        array = self.archive.array(self.part)
        if not self.offsets:
            return array[self.number]  # type: ignore[no-any-return]
        cuts = self.archive.array(self.offsets)
        return array[cuts[self.number] : cuts[self.number + 1]].tobytes()

    def stamp(self) -> str:
        return self.archive.stamp


class Archive:
    """A .npz file, whose arrays are read when they are asked for, and then kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: list[str] = []
        self.entries: list[ArchivedImage] = []
        self.labels: list[str] = []
        self.splits: list[str] = []
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        try:
            status = path.stat()
            with zipfile.ZipFile(path) as packed:
                self.members = {
                    each.filename.removesuffix(".npy"): each.file_size
                    for each in packed.infolist()
                    if each.filename.endswith(".npy")
                }
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not an .npz file"
            raise DataError(
                f"{path}: cannot be read ({reason}); write it with numpy.savez"
            ) from None
        self.stamp = f"{status.st_size} {status.st_mtime_ns}"
        unpacked = sum(self.members.values())
        if unpacked > MOST_BYTES or (
            unpacked > max(SMALLEST_SUSPECT_BYTES, LARGEST_RATIO * status.st_size)
        ):
            raise DataError(
                f"{path}: unpacks to {unpacked / 1e9:,.1f} GB from {status.st_size / 1e6:,.1f} MB, "
                "which images do not; write it again if you trust it"
            )

    def array(self, name: str) -> npt.NDArray[Any]:
        if name not in self._arrays:
            try:
                with np.load(self.path, allow_pickle=False) as file:
                    self._arrays[name] = file[name]
            except (
                OSError,
                ValueError,
                KeyError,
                EOFError,
                zipfile.BadZipFile,
                zlib.error,
            ) as error:
                if "pickle" in str(error) or "Object arrays" in str(error):
                    raise DataError(
                        f"{self.path}: the array {name} holds Python objects, which are not read "
                        "since they could run code; save numbers or texts"
                    ) from None
                raise DataError(
                    f"{self.path}: the array {name} is damaged; write or fetch the file again"
                ) from None
        return self._arrays[name]

    def named(self, *known: str) -> str:
        """The first of these arrays that the file has; "" if it has none."""
        lower = {name.lower(): name for name in self.members}
        return next((lower[name] for name in known if name in lower), "")

    @cached_property
    def label_names(self) -> list[str]:
        name = self.named(*NAMES)
        if not name:
            return []
        names = self.array(name)
        if names.ndim != 1 or names.dtype.kind not in "US":
            raise DataError(f"{self.path}: {name} is no list of texts; give the labels' names")
        return [each.decode() if isinstance(each, bytes) else str(each) for each in names]

    def add(self, part: str, offsets: str, labels: str, split: str) -> None:
        """The images of an array, and their labels."""
        count = self._count(part, offsets)
        self.names += [
            f"{self.path.name}:{split + ':' if split else ''}{at}" for at in range(count)
        ]
        self.entries += [ArchivedImage(self, at, part, offsets) for at in range(count)]
        self.splits += [split] * count if split else []
        if labels:
            self.labels += self._told(labels, count)

    def _count(self, part: str, offsets: str) -> int:
        if offsets:
            cuts = self.array(offsets)
            end = self._header(part)[0]
            whole = cuts.ndim == 1 and cuts.dtype.kind in "iu" and len(cuts) > 0 and len(end) == 1
            if not whole or cuts[0] < 0 or cuts[-1] > end[0] or bool((np.diff(cuts) < 0).any()):
                raise DataError(
                    f"{self.path}: {offsets} does not cut {part} into files; it has where each "
                    "file begins, and the end of the last"
                )
            return len(cuts) - 1
        shape, dtype = self._header(part)
        if dtype != np.uint8 or len(shape) not in (3, 4) or 0 in shape:
            raise DataError(
                f"{self.path}: {part} is {dtype} of shape {shape}; give uint8 pixels of shape "
                "[images, height, width] or [images, height, width, channels]"
            )
        if len(shape) == 4 and shape[-1] not in (1, 3, 4):
            turned = ": put the channels last" if shape[1] in (1, 3, 4) else ""
            raise DataError(
                f"{self.path}: {part} has {shape[-1]} channels (shape {shape}); "
                f"give 1, 3 or 4{turned}"
            )
        return shape[0]

    def _header(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """The shape and type of an array, without its content."""
        try:
            with zipfile.ZipFile(self.path) as packed, packed.open(f"{name}.npy") as file:
                version = np.lib.format.read_magic(file)
                read = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                shape, _, dtype = read(file)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
            raise DataError(
                f"{self.path}: the array {name} is damaged; write or fetch the file again"
            ) from None
        return shape, dtype

    def _told(self, name: str, count: int) -> list[str]:
        values = self.array(name)
        values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
        if values.shape != (count,):
            raise DataError(
                f"{self.path}: {name} has the shape {values.shape}, and there are {count} images; "
                "give one label for each"
            )
        if values.dtype.kind in "US":
            return [each.decode() if isinstance(each, bytes) else str(each) for each in values]
        if values.dtype.kind not in "iub":
            raise DataError(f"{self.path}: {name} is {values.dtype}; give whole numbers or texts")
        if not self.label_names:
            return [str(int(each)) for each in values]
        known = len(self.label_names)
        if int(values.min(initial=0)) < 0 or int(values.max(initial=0)) >= known:
            raise DataError(
                f"{self.path}: {name} goes up to {int(values.max())}, and there are {known} names "
                "of labels; give a name for each"
            )
        return [self.label_names[int(each)] for each in values]


def open_archive(path: Path) -> Archive:
    """The images of a .npz file by the names of its arrays."""
    archive = Archive(path)
    for ending, split in PARTS.items():
        if part := archive.named(f"x_{ending}", f"{ending}_images", f"{ending}_x", f"x{ending}"):
            labels = archive.named(
                f"y_{ending}", f"{ending}_labels", f"{ending}_y", f"y{ending}", f"{ending}_label"
            )
            archive.add(part, "", labels, split)
    if not archive.entries:
        part = archive.named(*IMAGES)
        if not part:
            held = ", ".join(sorted(archive.members)) or "nothing"
            raise DataError(
                f"{path}: no array of images among {held}; name it images, or x_train and x_test"
            )
        archive.add(part, archive.named(*OFFSETS), archive.named(*LABELS), "")
    if archive.labels and len(archive.labels) != len(archive.entries):
        raise DataError(f"{path}: some images have labels, others none; give labels for all")
    return archive
