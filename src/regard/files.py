"""Writes files completely or not at all, and arrays with a checksum.

A file is written under a temporary name, flushed to the disk and renamed, so that a file under its
own name is always complete. A file of arrays has a checksum of its content in its header. Nothing
here loads PyTorch; `regard.weights` has the same functions for tensors.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from regard.errors import RunError
from regard.small_files import UNEXPECTED, open_regular, parse_json, required_json

if TYPE_CHECKING:
    import numpy.typing as npt

HEADER_BYTES = 4 << 20
# The types of numbers, by their names in a file, that both numpy and PyTorch have.
TYPES = {
    *("F16", "F32", "F64", "C64", "BOOL"),
    *("I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64"),
}
SCRATCH = ".writing-"
# How often to try again when a lock is removed while it is taken.
ATTEMPTS = 100
UMASK = os.umask(0)
os.umask(UMASK)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path to write to. At the end the file is flushed and replaces `path`, all of it
    or nothing, so that a reader never sees half a file.
    """
    try:
        with replacing_together(path.parent, [path.name]) as scratch:
            yield scratch / path.name
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RunError(
            f"{path}: cannot be written ({reason}); nothing is damaged, "
            "put that right and run the same command"
        ) from None


@contextmanager
def replacing_together(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """A temporary folder to write files of these names into; at the end they replace the files in
    `folder`. The last name marks the others as complete: its old file is removed before any of them
    moves, and its new file moves last. Raises OSError where that fails.
    """
    with scratch_folder(folder) as scratch:
        yield scratch
        for name in names:
            # safetensors makes files that only their owner may read; a run has the usual
            # permissions.
            (scratch / name).chmod(0o666 & ~UMASK)
            flush(scratch / name)
        if len(names) > 1:
            (folder / names[-1]).unlink(missing_ok=True)
        for name in names:
            os.replace(scratch / name, folder / name)
        flush(folder)  # so that the new names survive a power cut


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to write into, which is renamed to `path` when everything in it is on the disk."""
    path = Path(os.path.abspath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with scratch_folder(path.parent) as scratch:
            yield scratch
            scratch.chmod(0o777 & ~UMASK)
            for file in scratch.iterdir():
                flush(file)
            os.rename(scratch, path)
            flush(path.parent)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise RunError(
                f"{path}: is there already and not empty; choose another folder or remove it"
            ) from None
        raise


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A temporary folder, since safetensors puts a temporary file beside the one it writes."""
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=parent))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: Path, data: bytes) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write an object with a checksum of its values, which `read_json` compares."""
    plain = json.loads(json.dumps(values))  # as it will be read
    found = {**plain, "sha256": checksum(plain)}
    try:
        text = json.dumps(found, indent=2, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a character
        text = json.dumps(found, indent=2).encode()
    write_file(path, text)


def read_json(path: Path) -> dict[str, Any]:
    """An object as it was written; without a checksum, it is of an earlier version."""
    found = required_json(path)
    if not isinstance(found, dict):
        raise RunError(f"{path}: damaged (not an object)")
    values = without_checksum(found, "sha256", checksum)
    if values is None:
        raise RunError(f"{path}: damaged, its content does not match its checksum")
    return values


def without_checksum(
    found: dict[str, Any], name: str, checksum: Callable[[dict[str, Any]], str]
) -> dict[str, Any] | None:
    """The values without their checksum; None where it does not fit, or is under a damaged name.
    Earlier versions wrote none.
    """
    length = len(checksum({}))
    for key in (name, *found):
        if isinstance(found.get(key), str) and (key == name or len(found[key]) == length):
            rest = {each: value for each, value in found.items() if each != key}
            fits = found[key] == checksum(rest)
            if key == name or fits:
                return rest if key == name and fits else None
    return None if name in found else found


def checksum(values: Mapping[str, Any]) -> str:
    """SHA-256 of an object of JSON, however it is laid out."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def take_lock(path: Path) -> AbstractContextManager[object]:
    """Lock a file, which one process at a time can hold; its folder is made if necessary. Raises
    BlockingIOError where another process holds it.

    The holder may remove the file and its folder. A lock on a removed file keeps nobody out, so it
    is only accepted while the file still has its name.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return nullcontext()
    for _ in range(ATTEMPTS):
        with suppress(FileNotFoundError):  # removed just now
            path.parent.mkdir(parents=True, exist_ok=True)
            # Nothing is written to it, and a link may lead to somebody's file.
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            file = os.fdopen(os.open(path, flags, 0o666), "rb")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    return file
            except OSError:
                file.close()
                raise
            file.close()
    raise BlockingIOError


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock on a file; False where there is no such file."""
    try:
        import fcntl

        with open_regular(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (ImportError, OSError):
        return False
    return False


def digest(arrays: Mapping[str, npt.NDArray[Any]], metadata: Mapping[str, str]) -> str:
    """SHA-256 over names, types, shapes and contents, in a fixed order."""
    result = hashlib.sha256(json.dumps(sorted(metadata.items())).encode())
    for name in sorted(arrays):
        array = in_order(arrays[name])
        # PyTorch's name of the type, since PyTorch wrote the first of these files.
        result.update(f"{name} torch.{array.dtype.name} {array.shape}\n".encode())
        result.update(array.reshape(-1).view(np.uint8).data)
    return result.hexdigest()


def in_order(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in C order; a single number keeps its empty shape."""
    return np.asarray(array, order="C")


def write_arrays(
    path: Path, arrays: Mapping[str, npt.NDArray[Any]], metadata: Mapping[str, str]
) -> None:
    """Write a safetensors file with a checksum of its content."""
    data = {name: in_order(array) for name, array in arrays.items()}
    with replacing(path) as temporary:
        # One key only, since safetensors writes several in random order: equal runs, equal bytes.
        text = json.dumps({**metadata, "sha256": digest(data, metadata)}, sort_keys=True)
        save_file(data, temporary, {"regard": text})


def read_metadata(path: Path) -> dict[str, str]:
    """The metadata of a file of arrays, read from its header alone."""
    try:
        with open_regular(path) as file:
            size = int.from_bytes(file.read(8), "little")
            if size > HEADER_BYTES:
                raise ValueError(f"header of {size} bytes")
            header = parse_json(file.read(size))
        found = parse_json(header.get("__metadata__", {}).get("regard", "{}"))
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror or error})") from None
    except UNEXPECTED as error:
        raise RunError(f"{path}: damaged or not a safetensors file ({error})") from None
    return found if isinstance(found, dict) else {}


def read_arrays(path: Path) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    """Arrays and metadata, checked against the checksum; a failure is a one-line RunError."""
    try:
        with open_regular(path) as file:
            header = int.from_bytes(file.read(8), "little")
        if header > HEADER_BYTES:
            raise RunError(f"{path}: damaged or not a safetensors file (header of {header} bytes)")
        with safe_open(path, framework="numpy") as file:
            metadata = parse_json((file.metadata() or {}).get("regard", "{}"))
            arrays = {}
            for name in file.keys():  # noqa: SIM118
                kind = file.get_slice(name).get_dtype()
                if kind not in TYPES:
                    raise ValueError(f"{name} is of the unknown type {kind}")
                arrays[name] = file.get_tensor(name)
    except (OSError, MemoryError) as error:  # a file with a hole may be larger than all memory
        reason = getattr(error, "strerror", None) or error
        raise RunError(f"{path}: cannot be read ({reason})") from None
    except (SafetensorError, *UNEXPECTED) as error:
        raise RunError(f"{path}: damaged or not a safetensors file ({error})") from None
    if not isinstance(metadata, dict) or metadata.pop("sha256", "") != digest(arrays, metadata):
        raise RunError(f"{path}: damaged, its content does not match its checksum")
    return arrays, metadata
