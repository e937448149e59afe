"""Encoded pairs in files that are read on demand, so a corpus may be larger than memory.

name.ids    every pair's source ids, then its target ids, each closed by END
name.index  for each pair: where its ids begin, and the two lengths
name.json   counts, types, tokenizers and digests; written last: if it exists, the others do
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from regard.data.corpus import Pair
from regard.data.on_disk import (
    ID_TYPES,
    IdFile,
    NewFile,
    check_content,
    damaged,
    id_type,
    mapped,
)
from regard.data.pair_filter import FilterReport, PairFilter
from regard.errors import RunError
from regard.files import replacing_together
from regard.small_files import parse_json, read_small, refusing
from regard.text.tokenizer import START, Tokenizer

if TYPE_CHECKING:
    from regard.data.batch import Batch

CHUNK_PAIRS = 4096
# Bounds the memory of a chunk when all its sentences are very long.
CHUNK_CHARACTERS = 1_000_000
CHECKED_ENTRIES = 1_000_000

Ids = npt.NDArray[np.int64]
Sides = tuple[list[Ids], list[Ids]]

_FORMAT = 1
_INDEX = np.dtype([("offset", "<i8"), ("source", "<i4"), ("target", "<i4")])


def write_ids(
    pairs: Iterable[Pair],
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    folder: Path,
    name: str,
    *,
    max_length: int,
    max_ratio: float,
) -> FilterReport:
    """Encode the pairs chunk by chunk and keep those that pass the filter.

    The files appear under their names only when all of them are complete and enough was kept.
    """
    pair_filter = PairFilter(max_length, max_ratio)
    dtype = id_type(max(len(source_tokenizer), len(target_tokenizer)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The header is the last: it vouches for the others.
        names = [f"{name}.{ending}" for ending in ("ids", "index", "json")]
        with replacing_together(folder, names) as scratch:
            with NewFile(scratch / names[0]) as ids, NewFile(scratch / names[1]) as index:
                for chunk in _chunks(pairs):
                    rows = _encode(chunk, source_tokenizer, target_tokenizer, pair_filter)
                    _append(rows, ids, index, np.dtype(dtype))
            report = pair_filter.report()
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
            (scratch / names[2]).write_bytes(json.dumps(facts, indent=2).encode())
    except OSError as error:
        raise RunError(
            f"{folder / name}: the encoded text cannot be written ({error.strerror or error});"
            " make room or choose another folder"
        ) from None
    return report


@dataclass(frozen=True)
class IdPairs:
    """Encoded pairs, read from disk on demand. Lengths count END; decoders begin with `start`."""

    source_tokenizer: str
    target_tokenizer: str
    fingerprint: str
    _ids: IdFile
    _index: npt.NDArray[Any]
    start: int = START

    @classmethod
    def open(cls, folder: Path, name: str, start: int = START) -> Self:
        header_path = folder / f"{name}.json"
        try:
            content = read_small(header_path, 100_000)
        except OSError as error:
            raise RunError(
                f"{header_path}: the encoded text cannot be read ({error.strerror});"
                " start the run again to encode it"
            ) from None
        facts = _checked_header(content, header_path)
        index = mapped(folder / f"{name}.index", _INDEX, facts["pairs"])
        ids = IdFile(folder / f"{name}.ids", np.dtype(facts["dtype"]), facts["ids"])
        _check_index(index, facts["ids"], folder / f"{name}.index")
        for ending, digest in facts["sha256"].items():
            check_content(folder / f"{name}.{ending}", digest)
        return cls(
            source_tokenizer=facts["source_tokenizer"],
            target_tokenizer=facts["target_tokenizer"],
            fingerprint=hashlib.sha256(content).hexdigest(),
            _ids=ids,
            _index=index,
            start=start,
        )

    def __len__(self) -> int:
        return len(self._index)

    def source(self, i: int) -> npt.NDArray[np.int64]:
        begin, length, _ = self._index[i].tolist()
        return self._ids.read(begin, length)

    def target(self, i: int) -> npt.NDArray[np.int64]:
        begin, source_length, length = self._index[i].tolist()
        return self._ids.read(begin + source_length, length)

    def sides(self, rows: npt.NDArray[np.int64]) -> Sides:
        """The sources and the targets of some pairs."""
        return [self.source(i) for i in rows], [self.target(i) for i in rows]

    def batch(self, rows: npt.NDArray[np.int64]) -> Batch:
        from regard.data.batch import batch_pairs  # PyTorch, which reading and writing need not

        return batch_pairs(*self.sides(rows), self.start)

    @property
    def source_lengths(self) -> npt.NDArray[np.int32]:
        return np.asarray(self._index["source"])

    @property
    def target_lengths(self) -> npt.NDArray[np.int32]:
        return np.asarray(self._index["target"])


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
    chunk: list[Pair],
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    pair_filter: PairFilter,
) -> list[tuple[list[int], list[int]]]:
    short = []
    for pair in chunk:
        if pair_filter.too_long_to_encode(pair):
            pair_filter.drop_too_long(pair)
        else:
            short.append(pair)
    sources = source_tokenizer.encode_batch([pair.source for pair in short])
    targets = target_tokenizer.encode_batch([pair.target for pair in short])
    ends = source_tokenizer.specials.end, target_tokenizer.specials.end
    return [
        ([*source, ends[0]], [*target, ends[1]])
        for pair, source, target in zip(short, sources, targets, strict=True)
        if pair_filter.keeps(pair, len(source) + 1, len(target) + 1)
    ]


def _append(
    rows: list[tuple[list[int], list[int]]], ids: NewFile, index: NewFile, dtype: np.dtype[Any]
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


def _checked_header(content: bytes, path: Path) -> dict[str, Any]:
    with refusing(damaged(path, "not valid JSON")):
        facts = parse_json(content)
    match facts:
        case {
            "format": int(version),
            "pairs": int(pairs),
            "ids": int(ids),
            "dtype": str(dtype),
            "source_tokenizer": str(),
            "target_tokenizer": str(),
            "sha256": {"ids": str(), "index": str(), **others},
        } if not others and version == _FORMAT and dtype in ID_TYPES and 0 < pairs < ids:
            checked: dict[str, Any] = facts
            return checked
    raise damaged(path, "not what regard writes")


def _check_index(index: npt.NDArray[Any], ids: int, path: Path) -> None:
    """Each pair must begin where the one before it ends, so none reaches outside the ids."""
    begin = 0
    for start in range(0, len(index), CHECKED_ENTRIES):
        part = index[start : start + CHECKED_ENTRIES]
        ends = begin + np.cumsum(part["source"].astype(np.int64) + part["target"])
        begins = np.concatenate(([begin], ends[:-1]))
        if min(part["source"].min(), part["target"].min()) < 1:
            raise damaged(path, "an entry without ids")
        if not np.array_equal(begins, part["offset"]):
            raise damaged(path, "its entries do not follow each other")
        begin = int(ends[-1])
    if begin != ids:
        raise damaged(path, f"entries for {begin} ids instead of {ids}")
