"""Files of numbers that exist only when complete, and are read by mapping them into memory."""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from regard.errors import RunError
from regard.files import replacing_together
from regard.small_files import open_regular, parse_json, read_small, refusing

FORMAT = 1
ID_TYPES = ("<u2", "<i4")
TYPES = (*ID_TYPES, "<i8")


def id_type(count: int) -> str:
    """The smallest type for numbers below `count`."""
    return ID_TYPES[0] if count <= 2**16 else ID_TYPES[1]


class NewFile:
    """A file that is written a piece at a time, with a running digest."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")
        self.size = 0
        self.digest = hashlib.sha256()

    def write(self, content: bytes) -> None:
        self.file.write(content)
        self.digest.update(content)
        self.size += len(content)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def damaged(path: Path, why: str) -> RunError:
    return RunError(
        f"{path}: damaged ({why}); delete the folder {path.parent} and start the run again "
        "to encode the text"
    )


class IdFile:
    """A file of ids that stays open. It is not mapped: it is read in random order, so in time all
    of it would count as memory of the process.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any], count: int) -> None:
        check_size(path, dtype, count)
        self._path = path
        self._dtype = dtype
        try:
            self._file = open_regular(path)
        except OSError as error:
            raise damaged(path, error.strerror or str(error)) from None
        weakref.finalize(self, self._file.close)

    def read(self, begin: int, count: int) -> npt.NDArray[np.int64]:
        size = self._dtype.itemsize
        content = os.pread(self._file.fileno(), count * size, begin * size)
        if len(content) < count * size:
            raise damaged(self._path, "it became shorter while it was read")
        return np.frombuffer(content, self._dtype).astype(np.int64)


def mapped(path: Path, dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
    check_size(path, dtype, count)
    try:
        with open_regular(path) as file:
            return np.memmap(file, dtype, "r", shape=(count,)) if count else np.empty(0, dtype)
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from None


def check_size(path: Path, dtype: np.dtype[Any], count: int) -> None:
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from None
    if size != count * dtype.itemsize:
        raise damaged(path, f"{size} bytes instead of {count * dtype.itemsize}")


def check_content(path: Path, expected: str) -> None:
    """Compare a file with its digest. A gigabyte takes a second or two at each start; without the
    check a run could train for days on a damaged file.
    """
    try:
        with open_regular(path) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from None
    if found != expected:
        raise damaged(path, "its content does not match its checksum")


@dataclass(frozen=True)
class Arrays:
    """Arrays, each from a file of its own, and the facts about them in name.json."""

    facts: dict[str, Any]
    fingerprint: str
    parts: dict[str, npt.NDArray[Any]]


def write_arrays(
    folder: Path,
    name: str,
    types: Mapping[str, str],
    chunks: Iterable[Mapping[str, npt.NDArray[Any]]],
    facts: Callable[[], Mapping[str, Any]],
) -> None:
    """Write each part of the chunks to a file name.part. `facts` is called when all is written, and
    may raise an error to refuse it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The header is the last: it vouches for the others.
        names = [f"{name}.{ending}" for ending in (*types, "json")]
        with replacing_together(folder, names) as scratch:
            with ExitStack() as stack:
                files = {
                    part: stack.enter_context(NewFile(scratch / f"{name}.{part}")) for part in types
                }
                for chunk in chunks:
                    for part, file in files.items():
                        file.write(chunk[part].astype(types[part]).tobytes())
            about = {
                "format": FORMAT,
                "facts": dict(facts()),
                "types": dict(types),
                "counts": {
                    part: file.size // np.dtype(types[part]).itemsize
                    for part, file in files.items()
                },
                "sha256": {part: file.digest.hexdigest() for part, file in files.items()},
            }
            (scratch / f"{name}.json").write_bytes(json.dumps(about, indent=2).encode())
    except OSError as error:
        raise RunError(
            f"{folder / name}: the encoded text cannot be written ({error.strerror or error});"
            " make room or choose another folder"
        ) from None


def open_arrays(folder: Path, name: str, parts: Iterable[str]) -> Arrays:
    path = folder / f"{name}.json"
    try:
        content = read_small(path)
    except OSError as error:
        raise RunError(
            f"{path}: the encoded text cannot be read ({error.strerror});"
            " start the run again to encode it"
        ) from None
    with refusing(damaged(path, "not valid JSON")):
        about = parse_json(content)
    match about:
        case {
            "format": int(version),
            "facts": dict(),
            "types": dict() as types,
            "counts": dict() as counts,
            "sha256": dict() as digests,
        } if (
            version == FORMAT
            and types.keys() == counts.keys() == digests.keys() == set(parts)
            and all(kind in TYPES for kind in types.values())
            and all(type(count) is int and count >= 0 for count in counts.values())
        ):
            arrays = {
                part: mapped(folder / f"{name}.{part}", np.dtype(kind), counts[part])
                for part, kind in types.items()
            }
            for part, digest in digests.items():
                check_content(folder / f"{name}.{part}", digest)
            return Arrays(about["facts"], hashlib.sha256(content).hexdigest(), arrays)
    raise damaged(path, "not what regard writes")
