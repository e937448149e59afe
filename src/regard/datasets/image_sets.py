"""From published files of images to the .npz files that recipes read.

An .npz is written with fixed times, so that the same images give the same bytes.
"""

import gzip
import hashlib
import io
import shutil
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.datasets import Made
from regard.errors import DataError

# Images that unpack to more than this are no data set that is known here.
MOST_BYTES = 1_000_000_000
KINDS = frozenset({"copy", "idx", "image-zip"})


def make_images(file: Made, downloads: Path, target: Path) -> str:
    """Write a file of images from the files in `downloads`; its checksum."""
    match file.how:
        case "copy":
            shutil.copyfile(downloads / file.parts[0], target)
        case "idx":
            save(target, idx_arrays(file, downloads))
        case "image-zip":
            save(target, zipped_images(file, downloads))
    return hashlib.sha256(target.read_bytes()).hexdigest()


def idx_arrays(file: Made, downloads: Path) -> dict[str, NDArray[Any]]:
    """Four parts: images and labels to learn from, then those to test on; `classes` in `names`."""
    names = ("x_train", "y_train", "x_test", "y_test")
    arrays: dict[str, NDArray[Any]] = {
        name: idx_array(downloads / part) for name, part in zip(names, file.parts, strict=True)
    }
    return arrays | ({"classes": np.array(file.names)} if file.names else {})


def idx_array(path: Path) -> NDArray[np.uint8]:
    """An array as LeCun's IDX files hold it: a magic number, the sizes, then the bytes."""
    with gzip.open(path) as packed:
        data = packed.read(MOST_BYTES)
    zero, kind, dimensions = struct.unpack(">HBB", data[:4])
    shape = struct.unpack(f">{dimensions}I", data[4 : 4 + 4 * dimensions])
    if zero or kind != 8 or len(data) != 4 + 4 * dimensions + int(np.prod(shape)):
        raise DataError(f"{path.name}: not an IDX file of bytes, or a damaged one")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def zipped_images(file: Made, downloads: Path) -> dict[str, NDArray[Any]]:
    """The image files below a folder of an archive, whose inner folders are the labels."""
    name, _, folder = file.parts[0].partition(":")
    contents: list[bytes] = []
    labels: list[str] = []
    left = MOST_BYTES
    with zipfile.ZipFile(downloads / name) as archive:
        for each in sorted(archive.infolist(), key=lambda member: member.filename):
            path = PurePosixPath(each.filename)
            if each.is_dir() or not each.filename.startswith(folder):
                continue
            left -= each.file_size
            if left < 0:
                raise DataError(f"{name}: unpacks to far more than its images; nothing was kept")
            contents.append(archive.read(each))
            labels.append(path.parent.name)
    if not contents:
        raise KeyError(f"no {folder} in it")
    classes = sorted(set(labels))
    return {
        "data": np.frombuffer(b"".join(contents), np.uint8),
        "offset": np.cumsum([0, *map(len, contents)], dtype=np.int64),
        "label": np.array([classes.index(each) for each in labels], np.uint8),
        "classes": np.array(classes),
    }


def save(target: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(
                zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), content.getvalue()
            )
