"""Encoded pairs in files that are read as they are asked for: a corpus may be larger than memory.

name.ids    every pair's source ids, then its target ids, each closed by END
name.index  for each pair: where its ids begin, and the two lengths
name.json   counts, types, tokenizers and digests; written last, so that it vouches for the others
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from regard.data.corpus import Pair
from regard.data.sieve import Report, Sieve
from regard.errors import RunError
from regard.text.tokenizer import END, Tokenizer

CHUNK_PAIRS = 4096
# Bounds the memory of a chunk when all its sentences are very long.
CHUNK_CHARACTERS = 1_000_000
CHECKED_ENTRIES = 1_000_000

_FORMAT = 1
_INDEX = np.dtype([("offset", "<i8"), ("source", "<i4"), ("target", "<i4")])
_ID_TYPES = ("<u2", "<i4")


def write_ids(
    pairs: Iterable[Pair],
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    folder: Path,
    name: str,
    *,
    max_length: int,
    max_ratio: float,
) -> Report:
    """Encode the pairs a chunk at a time and keep what the sieve lets through.

    The files appear under their names only when all of them are complete and enough was kept.
    """
    sieve = Sieve(max_length, max_ratio)
    largest = max(len(source_tokenizer), len(target_tokenizer))
    dtype = _ID_TYPES[0] if largest <= 2**16 else _ID_TYPES[1]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            ids = stack.enter_context(_NewFile.create(folder / f"{name}.ids"))
            index = stack.enter_context(_NewFile.create(folder / f"{name}.index"))
            header = stack.enter_context(_NewFile.create(folder / f"{name}.json"))
            for chunk in _chunks(pairs):
                rows = _encode(chunk, source_tokenizer, target_tokenizer, sieve)
                _append(rows, ids, index, np.dtype(dtype))
            report = sieve.report()
            report.check()
            facts = {
                "format": _FORMAT,
                "pairs": report.kept,
                "ids": ids.size // np.dtype(dtype).itemsize,
                "dtype": dtype,
                "source_tokenizer": source_tokenizer.fingerprint,
                "target_tokenizer": target_tokenizer.fingerprint,
                "sha256": {"ids": ids.digest.hexdigest(), "index": index.digest.hexdigest()},
            }
            header.write(json.dumps(facts, indent=2).encode())
            _replace(folder, [ids, index, header])
    except OSError as error:
        raise RunError(
            f"{folder / name}: the encoded text cannot be written ({error.strerror or error});"
            " make room or choose another folder"
        ) from None
    return report


@dataclass(frozen=True)
class IdPairs:
    """Encoded pairs, read from disk as they are asked for. Lengths count END."""

    source_tokenizer: str
    target_tokenizer: str
    fingerprint: str
    _ids: _IdFile
    _index: npt.NDArray[Any]

    @classmethod
    def open(cls, folder: Path, name: str) -> Self:
        header_path = folder / f"{name}.json"
        try:
            with header_path.open("rb") as file:
                content = file.read(100_000)
        except OSError as error:
            raise RunError(
                f"{header_path}: the encoded text cannot be read ({error.strerror});"
                " start the run again to encode it anew"
            ) from None
        facts = _checked_header(content, header_path)
        index = _mapped(folder / f"{name}.index", _INDEX, facts["pairs"])
        ids = _IdFile(folder / f"{name}.ids", np.dtype(facts["dtype"]), facts["ids"])
        _check_index(index, facts["ids"], folder / f"{name}.index")
        for ending, digest in facts["sha256"].items():
            _check_content(folder / f"{name}.{ending}", digest)
        return cls(
            source_tokenizer=facts["source_tokenizer"],
            target_tokenizer=facts["target_tokenizer"],
            fingerprint=hashlib.sha256(content).hexdigest(),
            _ids=ids,
            _index=index,
        )

    def __len__(self) -> int:
        return len(self._index)

    def source(self, i: int) -> npt.NDArray[np.int64]:
        begin, length, _ = self._index[i].tolist()
        return self._ids.read(begin, length)

    def target(self, i: int) -> npt.NDArray[np.int64]:
        begin, source_length, length = self._index[i].tolist()
        return self._ids.read(begin + source_length, length)

    @property
    def source_lengths(self) -> npt.NDArray[np.int32]:
        return np.asarray(self._index["source"])

    @property
    def target_lengths(self) -> npt.NDArray[np.int32]:
        return np.asarray(self._index["target"])


class _IdFile:
    """A file of ids that stays open. It is not mapped: all of it would be met in random order, and
    count as memory of the process.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any], count: int) -> None:
        _check_size(path, dtype, count)
        self._path = path
        self._dtype = dtype
        try:
            self._descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise _damaged(path, error.strerror or str(error)) from None
        weakref.finalize(self, os.close, self._descriptor)

    def read(self, begin: int, count: int) -> npt.NDArray[np.int64]:
        size = self._dtype.itemsize
        content = os.pread(self._descriptor, count * size, begin * size)
        if len(content) < count * size:
            raise _damaged(self._path, "it became shorter while it was read")
        return np.frombuffer(content, self._dtype).astype(np.int64)


class _NewFile:
    """A file under a temporary name, with a running digest; removed unless it is published."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.part = path.with_name(f"{path.name}.part")
        self.file = file
        self.size = 0
        self.digest = hashlib.sha256()

    @classmethod
    def create(cls, path: Path) -> Self:
        return cls(path, path.with_name(f"{path.name}.part").open("wb"))

    def write(self, content: bytes) -> None:
        self.file.write(content)
        self.digest.update(content)
        self.size += len(content)

    def finish(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.part.unlink(missing_ok=True)


def _replace(folder: Path, files: list[_NewFile]) -> None:
    """Put the files in place, the header last and the old header gone before anything moves."""
    for new in files:
        new.finish()
    files[-1].path.unlink(missing_ok=True)
    for new in files:
        os.replace(new.part, new.path)
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    chunk: list[Pair] = []
    characters = 0
    for pair in pairs:
        chunk.append(pair)
        characters += len(pair.source) + len(pair.target)
        if len(chunk) == CHUNK_PAIRS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _encode(
    chunk: list[Pair], source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, sieve: Sieve
) -> list[tuple[list[int], list[int]]]:
    short = []
    for pair in chunk:
        if sieve.too_long_to_encode(pair):
            sieve.drop_too_long(pair)
        else:
            short.append(pair)
    sources = source_tokenizer.encode_batch([pair.source for pair in short])
    targets = target_tokenizer.encode_batch([pair.target for pair in short])
    return [
        ([*source, END], [*target, END])
        for pair, source, target in zip(short, sources, targets, strict=True)
        if sieve.keeps(pair, len(source) + 1, len(target) + 1)
    ]


def _append(
    rows: list[tuple[list[int], list[int]]], ids: _NewFile, index: _NewFile, dtype: np.dtype[Any]
) -> None:
    begin = ids.size // dtype.itemsize
    entries = np.empty(len(rows), _INDEX)
    entries["source"] = [len(source) for source, _ in rows]
    entries["target"] = [len(target) for _, target in rows]
    ends = np.cumsum(entries["source"].astype(np.int64) + entries["target"])
    entries["offset"] = begin + ends - entries["source"] - entries["target"]
    flat = [token for source, target in rows for side in (source, target) for token in side]
    ids.write(np.array(flat, dtype).tobytes())
    index.write(entries.tobytes())


def _damaged(path: Path, why: str) -> RunError:
    return RunError(
        f"{path}: damaged ({why}); delete the folder {path.parent} and start the run again "
        "to encode the text anew"
    )


def _checked_header(content: bytes, path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(content)
    except (ValueError, RecursionError):
        raise _damaged(path, "not valid JSON") from None
    match facts:
        case {
            "format": int(version),
            "pairs": int(pairs),
            "ids": int(ids),
            "dtype": str(dtype),
            "source_tokenizer": str(),
            "target_tokenizer": str(),
            "sha256": {"ids": str(), "index": str(), **others},
        } if not others and version == _FORMAT and dtype in _ID_TYPES and 0 < pairs < ids:
            checked: dict[str, Any] = facts
            return checked
    raise _damaged(path, "not what regard writes")


def _mapped(path: Path, dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
    _check_size(path, dtype, count)
    try:
        return np.memmap(path, dtype, mode="r", shape=(count,))
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from None


def _check_size(path: Path, dtype: np.dtype[Any], count: int) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from None
    if size != count * dtype.itemsize:
        raise _damaged(path, f"{size} bytes instead of {count * dtype.itemsize}")


def _check_index(index: npt.NDArray[Any], ids: int, path: Path) -> None:
    """Each pair must begin where the one before it ends, so none reaches outside the ids."""
    begin = 0
    for start in range(0, len(index), CHECKED_ENTRIES):
        part = index[start : start + CHECKED_ENTRIES]
        ends = begin + np.cumsum(part["source"].astype(np.int64) + part["target"])
        begins = np.concatenate(([begin], ends[:-1]))
        if min(part["source"].min(), part["target"].min()) < 1:
            raise _damaged(path, "an entry without ids")
        if not np.array_equal(begins, part["offset"]):
            raise _damaged(path, "its entries do not follow each other")
        begin = int(ends[-1])
    if begin != ids:
        raise _damaged(path, f"entries for {begin} ids instead of {ids}")


def _check_content(path: Path, expected: str) -> None:
    """A gigabyte takes a second or two, once a start; a flipped bit would train for days."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from None
    if found != expected:
        raise _damaged(path, "its content does not match its checksum")
