"""Published files of images become arrays that recipes read."""

import gzip
import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.data.image_files import find_images
from regard.datasets import Made
from regard.datasets.convert import make
from regard.errors import DataError


def idx(array: np.ndarray) -> bytes:  # type: ignore[type-arg]
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return gzip.compress(header + array.tobytes())


def write_idx(folder: Path) -> Made:
    random = np.random.default_rng(1)
    parts = []
    for name, count in (("train", 6), ("test", 2)):
        images = random.integers(0, 255, (count, 5, 4), np.uint8)
        (folder / f"{name}-images.gz").write_bytes(idx(images))
        (folder / f"{name}-labels.gz").write_bytes(idx(np.arange(count, dtype=np.uint8) % 2))
        parts += [f"{name}-images.gz", f"{name}-labels.gz"]
    return Made("clothes.npz", tuple(parts), "idx", names=("shirt", "shoe"))


def test_idx_files_become_arrays_with_named_labels(tmp_path: Path) -> None:
    file = write_idx(tmp_path)
    first = make(file, tmp_path, tmp_path / file.name)
    assert make(file, tmp_path, tmp_path / "again.npz") == first  # the same bytes each time
    found = find_images([tmp_path / file.name])
    assert len(found) == 8
    assert found.classes == ["shirt", "shoe"]
    assert found.splits.count("test") == 2
    image = found.read(0)
    assert isinstance(image, np.ndarray)
    assert image.shape == (5, 4)


def test_a_damaged_idx_file_is_refused(tmp_path: Path) -> None:
    file = write_idx(tmp_path)
    for content in (gzip.compress(b"\0\0\x08"), gzip.compress(b"\0\0\x08\x01\0\0\0\x09ab"), b"x"):
        (tmp_path / "train-images.gz").write_bytes(content)
        with pytest.raises(DataError, match="train-images"):
            make(file, tmp_path, tmp_path / file.name)


def test_a_zip_of_folders_becomes_packed_files(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        for number in range(4):
            content = io.BytesIO()
            Image.new("RGB", (6, 6), (60 * number, 0, 0)).save(content, "PNG")
            label = ("cat", "dog")[number % 2]
            archive.writestr(f"all/train/{label}/{number}.png", content.getvalue())
            archive.writestr(f"all/test/{label}/{number}.png", content.getvalue())
    file = Made("train.npz", ("images.zip:all/train/",), "image-zip")
    make(file, tmp_path, tmp_path / file.name)
    found = find_images([tmp_path / file.name])
    assert (len(found), found.classes) == (4, ["cat", "dog"])
    assert isinstance(found.read(0), bytes)
    missing = Made("valid.npz", ("images.zip:all/valid/",), "image-zip")
    with pytest.raises(DataError, match="does not have what was expected"):
        make(missing, tmp_path, tmp_path / "valid.npz")


def test_a_file_may_stay_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "digits").write_bytes(b"1234")
    make(Made("digits.npz", ("digits",), "copy"), tmp_path, tmp_path / "digits.npz")
    assert (tmp_path / "digits.npz").read_bytes() == b"1234"
