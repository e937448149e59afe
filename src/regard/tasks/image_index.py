"""Vectors of images in a file, so that a search only reads images that are new or have changed."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.image_files import ImageList
from regard.errors import DataError, RunError
from regard.files import read_arrays, read_metadata, write_arrays
from regard.reporter import Reporter
from regard.small_files import UNEXPECTED, parse_json

FORMAT = "1"
AT_ONCE = 64
# Images between two writes of the file, so that little is lost if the computer stops.
SAVE_EVERY = 4096

Vectors = NDArray[np.float32]
# Some images of a list → the vectors of those that can be read, their numbers, and what is wrong
# with the others.
Encode = Callable[[ImageList, Sequence[int]], tuple[Vectors, list[int], list[str]]]


def index_path(run: Path, images: Sequence[Path]) -> Path:
    """Where a run keeps the vectors of these folders or archives."""
    places = "\n".join(str(path.resolve()) for path in images)
    name = hashlib.sha256(places.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return run / "search" / f"{name}.safetensors"


@dataclass(frozen=True)
class Hit:
    """An image that a search has found.

    Attributes
    ----------
    name : str
        As the folder or archive has it.
    number : int
        Its number in the list of images.
    similarity : float
        From -1 to 1.
    """

    name: str
    number: int
    similarity: float


@dataclass(frozen=True)
class ImageIndex:
    """Names of images, what changes when their files do, and their vectors [N, w]. The vector of an
    image that cannot be read is 0, so that it is not read again and again.
    """

    model: str  # the checksum of the weights that made the vectors
    names: list[str]
    stamps: list[str]
    vectors: Vectors
    # What the last update has done.
    added: int = 0
    changed: int = 0
    removed: int = 0
    problems: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: Path, model: str, width: int) -> "ImageIndex":
        """The index of a file; an empty one if there is none, or one of other weights."""
        empty = cls(model, [], [], np.zeros((0, width), np.float32))
        if not path.exists():
            return empty
        about = read_metadata(path)
        if about.get("what") != "image index":
            raise RunError(f"{path}: not an index of images; name another file with --index")
        if (about.get("format"), about.get("model")) != (FORMAT, model):
            return empty
        arrays, _ = read_arrays(path)
        try:
            names, stamps = parse_json(arrays["names"].tobytes())
            vectors = arrays["vectors"]
            if vectors.shape != (len(names), width) or len(stamps) != len(names):
                raise ValueError
        except UNEXPECTED:
            raise RunError(f"{path}: damaged; delete it, and it is made again") from None
        return cls(model, names, stamps, vectors)

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps([self.names, self.stamps]).encode()
        arrays: dict[str, NDArray[Any]] = {
            "names": np.frombuffer(text, np.uint8),
            "vectors": self.vectors,
        }
        write_arrays(path, arrays, {"what": "image index", "format": FORMAT, "model": self.model})

    def updated(
        self, images: ImageList, encode: Encode, path: Path, reporter: Reporter
    ) -> "ImageIndex":
        """The index of these images, written to a file if anything has changed. What is done is
        kept if it is interrupted.
        """
        known = {name: place for place, name in enumerate(self.names)}
        stamps = [entry.stamp() for entry in images.entries]
        vectors = np.zeros((len(images), self.vectors.shape[1]), np.float32)
        done = np.zeros(len(images), bool)
        changed = 0
        for number, (name, stamp) in enumerate(zip(images.names, stamps, strict=True)):
            place = known.get(name)
            if place is not None and self.stamps[place] == stamp:
                vectors[number], done[number] = self.vectors[place], True
            changed += place is not None and not done[number]
        new = np.flatnonzero(~done)
        removed = len(known.keys() - set(images.names))
        problems: list[str] = []

        def now() -> ImageIndex:
            kept = np.flatnonzero(done)
            return ImageIndex(
                self.model,
                [images.names[i] for i in kept],
                [stamps[i] for i in kept],
                vectors[kept],
                len(new) - changed,
                changed,
                removed,
                tuple(problems),
            )

        if not len(new) and not removed:
            return now()
        try:
            with reporter.progress("Reading images", len(new)) as advance:
                for start in range(0, len(new), AT_ONCE):
                    part = [int(i) for i in new[start : start + AT_ONCE]]
                    found, read, bad = encode(images, part)
                    vectors[read] = found
                    done[part] = True
                    problems += bad
                    advance(len(part))
                    if (start + AT_ONCE) % SAVE_EVERY == 0:
                        now().save(path)
        finally:
            now().save(path)
        return now()

    def summary(self) -> str:
        """8,091 images: 12 new, 3 changed, 1 removed"""
        counts = {"new": self.added, "changed": self.changed, "removed": self.removed}
        words = [f"{count:,} {name}" for name, count in counts.items() if count]
        return f"{len(self.names):,} images: {', '.join(words) or 'nothing new'}"

    def nearest(self, query: Vectors, n_best: int) -> list[Hit]:
        """The images whose vectors are most like a vector [w]."""
        readable = np.flatnonzero(self.vectors.any(1))
        if not len(readable):
            raise DataError("none of the images can be read, so none is found")
        similarity = self.vectors[readable] @ query
        order = np.argsort(-similarity, kind="stable")[:n_best]
        return [
            Hit(self.names[int(readable[i])], int(readable[i]), float(similarity[i])) for i in order
        ]
