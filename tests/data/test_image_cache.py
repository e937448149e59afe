"""Images are decoded once, in order, and a build that was interrupted continues."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.data import image_cache
from regard.data.image_cache import build, open_cache
from regard.data.image_files import ImageFile, find_images
from regard.data.images import content, fitted
from regard.errors import DataError, RunError
from tests.data import odd_images


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    generator = np.random.default_rng(0)
    for number in range(23):
        pixels = generator.integers(0, 255, (20, 30 + number, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:02}.jpg", quality=95)
    return folder


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read."""
    found: list[str] = []

    def read(entry: ImageFile) -> bytes:
        found.append(entry.path.name)
        return content(entry.path)

    monkeypatch.setattr(ImageFile, "read", read)
    return found


@pytest.mark.parametrize("small_file", [0, 10**9], ids=["threads", "one thread"])
def test_each_image_is_in_its_place(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_file: int
) -> None:
    monkeypatch.setattr(image_cache, "SMALL_FILE", small_file)
    monkeypatch.setattr(image_cache, "MOST_IN_BLOCK", 10)
    monkeypatch.setattr(image_cache, "SHARE", 3)
    images = find_images([photos])
    cache = build(images, tmp_path / "cache", 16, "crop", 3)
    assert cache.pixels.shape == (23, 16, 16, 3)
    assert cache.readable.all()
    assert len(set(cache.digests)) == 23
    assert cache.remark() == ""
    for number, name in enumerate(images.names):
        wanted = fitted(content(photos / name), 16, "crop", 3)
        assert (cache.pixels[number] == wanted).all()


def test_a_second_start_reads_nothing(photos: Path, tmp_path: Path, reads: list[str]) -> None:
    first = build(find_images([photos]), tmp_path / "cache", 8, "pad", 1)
    assert len(reads) == 23
    second = build(find_images([photos]), tmp_path / "cache", 8, "pad", 1)
    assert len(reads) == 23
    assert (first.pixels == second.pixels).all()
    assert (first.digests == second.digests).all()


def test_a_change_is_seen(photos: Path, tmp_path: Path, reads: list[str]) -> None:
    build(find_images([photos]), tmp_path / "cache", 8, "pad", 1)
    Image.new("L", (5, 5)).save(photos / "03.jpg")
    changed = build(find_images([photos]), tmp_path / "cache", 8, "pad", 1)
    assert (changed.pixels[3] == 0).all()
    (photos / "00.jpg").unlink()
    assert len(build(find_images([photos]), tmp_path / "cache", 8, "pad", 1)) == 22
    assert build(find_images([photos]), tmp_path / "cache", 9, "pad", 1).pixels.shape[1] == 9


def test_what_cannot_be_read_is_named_and_shifts_nothing(photos: Path, tmp_path: Path) -> None:
    whole = build(find_images([photos]), tmp_path / "whole", 8, "crop", 3)
    (photos / "04.jpg").write_bytes(b"")
    (photos / "11.jpg").write_bytes((photos / "11.jpg").read_bytes()[:300])
    (photos / "12.jpg").write_bytes(odd_images.refused()["bomb.png"][0])
    cache = build(find_images([photos]), tmp_path / "cache", 8, "crop", 3)
    assert [*np.flatnonzero(~cache.readable)] == [4, 11, 12]
    assert (cache.pixels[cache.readable] == whole.pixels[cache.readable]).all()
    assert not cache.pixels[~cache.readable].any()
    assert cache.remark().startswith("3 of 23 images cannot be read (04.jpg: the file is empty")
    assert open_cache(tmp_path / "cache").problems == cache.problems


def test_too_many_that_cannot_be_read(photos: Path, tmp_path: Path) -> None:
    for path in sorted(photos.iterdir())[:5]:
        path.write_bytes(b"<html>")
    with pytest.raises(DataError, match=r"5 of 23 images cannot be read \(00.jpg: .*web page"):
        build(find_images([photos]), tmp_path / "cache", 8, "crop", 3)


KILLED = """
import os, signal, sys
from contextlib import contextmanager
from pathlib import Path
from regard.data import image_cache
from regard.data.image_files import find_images
from regard.reporter import Reporter
image_cache.MOST_IN_BLOCK = 4
done = 0

@contextmanager
def progress(what, total):
    def advance(count):
        global done
        done += count
        if done >= 12:
            os.kill(os.getpid(), signal.SIGKILL)
    yield advance

photos, cache = map(Path, sys.argv[1:])
image_cache.build(find_images([photos]), cache, 8, "crop", 3, Reporter(progress=progress))
"""


def test_a_build_that_was_killed_continues(photos: Path, tmp_path: Path, reads: list[str]) -> None:
    (photos / "02.jpg").write_bytes(b"")
    cache = tmp_path / "cache"
    done = subprocess.run([sys.executable, "-c", KILLED, photos, cache], check=False)
    assert done.returncode == -signal.SIGKILL
    with pytest.raises(RunError, match="no complete cache"):
        open_cache(cache)
    # As if the last blocks had been written in part.
    with (cache / "pixels").open("ab") as file:
        file.write(bytes(100))
    with (cache / "problems.jsonl").open("ab") as file:
        file.write(b'{"image": 15, "problem": "x"}\n{"image": 16, "pro')
    found = build(find_images([photos]), cache, 8, "crop", 3)
    assert reads == [f"{each:02}.jpg" for each in range(12, 23)]
    whole = build(find_images([photos]), tmp_path / "whole", 8, "crop", 3)
    assert (found.pixels == whole.pixels).all()
    assert (found.digests == whole.digests).all()
    assert found.problems == whole.problems


def test_pixels_of_arrays(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (9, 8, 8, 3), np.uint8)
    pixels[5] = pixels[2]
    np.savez(tmp_path / "a.npz", images=pixels)
    cache = build(find_images([tmp_path / "a.npz"]), tmp_path / "cache", 8, "crop", 3)
    assert (cache.pixels == pixels).all()
    assert cache.digests[5] == cache.digests[2]
    assert len(set(cache.digests)) == 8


@pytest.mark.parametrize("name", ["pixels", "records", "cache.json"])
def test_a_damaged_cache_is_refused(photos: Path, tmp_path: Path, name: str) -> None:
    build(find_images([photos]), tmp_path / "cache", 8, "crop", 3)
    path = tmp_path / "cache" / name
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RunError, match="no complete cache"):
        open_cache(tmp_path / "cache")


def test_sixty_odd_files_at_once(tmp_path: Path) -> None:
    """Each is read or named, and labels stay with their images."""
    readable, refused = odd_images.readable(), odd_images.refused()
    names, scene = [*readable, *refused], np.array(odd_images.scene())
    for name in names:
        data = readable[name][0] if name in readable else refused[name][0]
        path = tmp_path / "photos" / ("good" if name in readable else "bad") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for number in range(200):
        Image.fromarray(scene).save(tmp_path / "photos" / "good" / f"{number}.png")
    images = find_images([tmp_path / "photos"])
    listed = [name for name in refused if not name.endswith((".mp4", ".npy", ".gz"))]
    assert len(images) == len(readable) + len(listed) + 200
    cache = build(images, tmp_path / "cache", 6, "squeeze", 3)
    labels = np.array(images.labels)
    assert (cache.readable == (labels == "good")).all()
    assert len(cache.problems) == len(listed)
    wanted = fitted(scene, 6, "squeeze", 3).astype(int)
    assert np.abs(cache.pixels[cache.readable] - wanted).max() <= 20


def test_an_image_that_vanishes_is_named(photos: Path, tmp_path: Path) -> None:
    images = find_images([photos])
    (photos / "07.jpg").unlink()
    cache = build(images, tmp_path / "cache", 8, "crop", 3)
    assert [*np.flatnonzero(~cache.readable)] == [7]
    assert "07.jpg: there is no such file" in cache.remark()
