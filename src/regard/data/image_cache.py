"""Images decoded once, into a file of pixels that training maps into memory.

A cache is a folder:

    pixels          uint8 [images, size, size, channels], zeros for an image that cannot be read
    records         for each image, whether it could be read and a hash of its content
    problems.jsonl  a sentence for each image that cannot be read
    cache.json      what is in it; there only when all is

They grow a block at a time, pixels before records, so that a build that was interrupted continues
where it was, and a second start reads no image.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from regard.data.image_files import MOST_SHOWN, ImageList
from regard.data.images import Fit, Pixels, decoded, quiet
from regard.errors import DataError, RunError
from regard.files import take_lock, write_file
from regard.machine.cores import usable_cores
from regard.reporter import SILENT, Reporter
from regard.small_files import UNEXPECTED, open_regular, parse_json, read_json, read_small

FORMAT = 1
BLOCK_BYTES = 16_000_000
MOST_IN_BLOCK = 1024
# The most bytes of the list of problems.
LARGEST_PROBLEMS = 256 << 20
# Images that a thread takes at a time.
SHARE = 8
# Below this, threads take longer to take turns than an image takes to decode.
SMALL_FILE = 8_000
# More than this share unreadable, and something else is wrong than a few files.
MOST_UNREADABLE = 0.2
RECORD = np.dtype([("readable", "u1"), ("digest", "<u8")])


@dataclass(frozen=True)
class ImageCache:
    """Decoded images; number i is number i of the list they were made from."""

    pixels: Pixels = field(repr=False)  # [images, size, size, channels], mapped
    readable: npt.NDArray[np.bool_] = field(repr=False)
    digests: npt.NDArray[np.uint64] = field(repr=False)  # equal for equal files; 0 if unreadable
    problems: list[str] = field(repr=False)  # a sentence for each image that cannot be read

    def __len__(self) -> int:
        return len(self.readable)

    def remark(self) -> str:
        """How many images are left out, and the first of them; "" if all could be read."""
        return _unreadable(self.problems, len(self)) if self.problems else ""


def build(
    images: ImageList,
    folder: Path,
    size: int,
    fit: Fit,
    channels: int,
    reporter: Reporter = SILENT,
) -> ImageCache:
    """Decode all images that are not in the cache yet, on all cores, and open it."""
    about = {
        "format": FORMAT,
        "images": len(images),
        "size": size,
        "fit": fit,
        "channels": channels,
        "fingerprint": images.fingerprint(),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if _is(folder / "cache.json", about):
            return open_cache(folder)
        with take_lock(folder / "lock"), quiet():
            if not _is(folder / "begun.json", about):
                _clear(folder)
                write_file(folder / "begun.json", _json(about))
            (folder / "cache.json").unlink(missing_ok=True)
            _Builder(images, folder, size, fit, channels).run(reporter)
            write_file(folder / "cache.json", _json(about))
    except BlockingIOError:
        raise RunError(f"{folder}: another process is making this cache; wait for it") from None
    except OSError as error:
        raise RunError(
            f"{folder}: the images cannot be written ({error.strerror or error}); make room or "
            "choose another folder"
        ) from None
    return open_cache(folder)


def open_cache(folder: Path) -> ImageCache:
    """A cache that is complete."""
    try:
        about = read_json(folder / "cache.json")
        if about["format"] != FORMAT:
            raise ValueError
        count, shape = about["images"], (about["size"], about["size"], about["channels"])
        with open_regular(folder / "records") as file:
            records = np.fromfile(file, RECORD)
        problems = [each["problem"] for each in _problems(folder)]
        with open_regular(folder / "pixels") as file:
            pixels = np.memmap(file, np.uint8, "r", shape=(count, *shape))
        if len(records) != count or os.path.getsize(folder / "pixels") != pixels.size:
            raise ValueError
    except (OSError, *UNEXPECTED):
        raise RunError(
            f"{folder}: no complete cache of images; delete the folder and start again to make it"
        ) from None
    return ImageCache(pixels, records["readable"] == 1, records["digest"].copy(), problems)


class _Builder:
    """Decodes the images that are missing, a block at a time."""

    def __init__(self, images: ImageList, folder: Path, size: int, fit: Fit, channels: int) -> None:
        self.images = images
        self.folder = folder
        self.shape = size, size, channels
        self.fit = fit
        self.problems: list[str] = []

    def run(self, reporter: Reporter) -> None:
        count, each = len(self.images), int(np.prod(self.shape))
        done = self._continued(each)
        threads = usable_cores() if self._are_large() else 1
        length = max(1, min(MOST_IN_BLOCK, BLOCK_BYTES // each))
        blocks = [np.zeros((length, *self.shape), np.uint8) for _ in range(2)]
        with (
            (self.folder / "pixels").open("ab") as pixels,
            (self.folder / "problems.jsonl").open("ab") as problems,
            (self.folder / "records").open("ab") as records,
            reporter.progress("images", count) as advance,
            ThreadPoolExecutor(threads) as pool,
            ThreadPoolExecutor(1) as writer,
        ):
            advance(done)
            written: Future[None] | None = None
            for turn, begin in enumerate(range(done, count, length)):
                # One block is decoded while the block before it is written.
                numbers, block = range(begin, min(begin + length, count)), blocks[turn % 2]
                found = self._block(numbers, block, pool, threads)
                if written is not None:
                    written.result()
                    advance(length)
                content: list[tuple[BinaryIO, Any]] = [
                    (pixels, block[: len(numbers)].data),
                    (problems, self._named(numbers, found)),
                    (
                        records,
                        np.array([(not why, digest) for digest, why in found], RECORD).tobytes(),
                    ),
                ]
                self._check_share()
                written = writer.submit(_append, content)
            if written is not None:
                written.result()
                advance(len(numbers))

    def _named(self, numbers: range, found: list[tuple[int, str]]) -> bytes:
        """The lines of the images that cannot be read."""
        bad = [(at, why) for at, (_, why) in zip(numbers, found, strict=True) if why]
        self.problems += [why for _, why in bad]
        return b"".join(_json({"image": at, "problem": why}) for at, why in bad)

    def _continued(self, each: int) -> int:
        """The number of images that an earlier build has written; what goes beyond is cut off."""
        sizes = {"pixels": each, "records": RECORD.itemsize}
        for name in (*sizes, "problems.jsonl"):
            (self.folder / name).touch()
        done = min(os.path.getsize(self.folder / name) // size for name, size in sizes.items())
        done = min(done, len(self.images))
        for name, size in sizes.items():
            os.truncate(self.folder / name, done * size)
        kept = [found for found in _problems(self.folder) if found["image"] < done]
        write_file(self.folder / "problems.jsonl", b"".join(map(_json, kept)))
        self.problems = [found["problem"] for found in kept]
        return done

    def _are_large(self) -> bool:
        """Whether decoding an image takes long, by the first few of them."""
        stamps = [each.stamp().split()[0] for each in self.images.entries[:100]]
        sizes = [int(each) for each in stamps if each.isdecimal()]
        return bool(sizes) and sum(sizes) / len(sizes) > SMALL_FILE

    def _block(
        self, numbers: range, block: Pixels, pool: ThreadPoolExecutor, threads: int
    ) -> list[tuple[int, str]]:
        if threads == 1:
            return self._decoded(numbers, block, numbers.start)
        shares = [numbers[at : at + SHARE] for at in range(0, len(numbers), SHARE)]
        work = partial(self._decoded, block=block, first=numbers.start)
        return [each for share in pool.map(work, shares) for each in share]

    def _decoded(self, numbers: Sequence[int], block: Pixels, first: int) -> list[tuple[int, str]]:
        """A hash and "" for each image, or 0 and why it cannot be read."""
        size, _, channels = self.shape
        found = []
        for number in numbers:
            name = self.images.names[number]
            try:
                source = self.images.read(number)
                block[number - first] = decoded(source, name, channels, (size, self.fit))
                found.append((digest_of(source), ""))
            except DataError as error:
                block[number - first] = 0
                found.append((0, str(error)))
        return found

    def _check_share(self) -> None:
        count = len(self.images)
        if len(self.problems) > MOST_UNREADABLE * count:
            raise DataError(
                f"{_unreadable(self.problems, count)}; more than {MOST_UNREADABLE:.0%} is too much"
            )


def digest_of(source: bytes | Pixels) -> int:
    """A hash of an image's content that is never 0."""
    digest = hashlib.blake2b(digest_size=8)
    if isinstance(source, bytes):
        digest.update(source)
    else:
        digest.update(f"{source.shape}".encode())
        digest.update(np.ascontiguousarray(source).data)
    return int.from_bytes(digest.digest(), "big") or 1


def _unreadable(problems: list[str], count: int) -> str:
    shown = "; ".join(problems[:MOST_SHOWN]) + ("; …" if len(problems) > MOST_SHOWN else "")
    one = len(problems) == 1
    return f"{len(problems):,} of {count:,} images cannot be read ({shown})" + (
        " and is left out" if one else " and are left out"
    )


def _append(content: list[tuple[BinaryIO, Any]]) -> None:
    """Write to files, one after another, each to the disk before what vouches for it."""
    for file, data in content:
        if len(data):
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _is(path: Path, about: dict[str, Any]) -> bool:
    try:
        return bool(read_json(path) == about)
    except (OSError, *UNEXPECTED):
        return False


def _problems(folder: Path) -> list[dict[str, Any]]:
    """The problems that are written whole."""
    found = []
    for line in read_small(folder / "problems.jsonl", LARGEST_PROBLEMS).split(b"\n"):
        with suppress(*UNEXPECTED):
            found.append(parse_json(line))
    return found


def _clear(folder: Path) -> None:
    for name in ("cache.json", "pixels", "records", "problems.jsonl"):
        (folder / name).unlink(missing_ok=True)
