"""Files of sentence pairs: every pair knows the file and line that it came from.

Files are read as bytes and cut at line feeds only. Python's text mode and `str.splitlines` also
cut at U+2028 and other characters, which would shift every later line against its translation.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from regard.datasets import fetch_hint
from regard.errors import DataError

LONGEST_LINE_BYTES = 16_000_000
# Compression makes text three to ten times smaller; a file that grows more is not ordinary text.
LARGEST_GZIP_RATIO = 100
SMALLEST_SUSPECT_BYTES = 8_000_000

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TABLES = (".tsv", ".jsonl")
_CODE = r"[a-z]{2,3}(?:[-_](?:[A-Z]{2}|[A-Z][a-z]{3}))?"
_ONE_CODE = re.compile(rf"(?:^|[._-])({_CODE})$")
_TWO_CODES = re.compile(rf"(?:^|[._-])({_CODE})-({_CODE})$")
_NO_CODES = frozenset({"src", "tgt", "trg", "ref", "hyp", "in", "out", "raw", "tok", "bpe", "dev"})


@dataclass(frozen=True, slots=True)
class Pair:
    """A source sentence, its translation, and the place it was read from ("train.en:17")."""

    source: str
    target: str
    place: str


def read_pairs(paths: Sequence[Path], languages: tuple[str, str] | None = None) -> Iterator[Pair]:
    """Pairs from two files of plain text, or from one .tsv or .jsonl; each may be a .gz.

    Line i gives pair i, empty or not. `languages` are the keys to look for in a .jsonl.
    """
    check_files(paths)
    if len(paths) == 2:
        return _aligned(paths[0], paths[1])
    if kind_of(paths[0]) == ".tsv":
        return _from_columns(paths[0])
    return _from_objects(paths[0], languages or language_codes(paths))


def check_files(paths: Sequence[Path]) -> None:
    """Find the errors that show without reading: missing, unreadable, empty or unsuitable files."""
    if len(paths) not in (1, 2):
        raise DataError(
            f"{len(paths)} data files are given, but pairs come from two files of plain text,"
            " or from one .tsv or .jsonl; give one or two files"
        )
    for path in paths:
        check_file(path)
    tables = [path for path in paths if kind_of(path) in _TABLES]
    if len(paths) == 1 and not tables:
        raise DataError(
            f"{paths[0]}: one file of plain text holds no pairs;"
            " give the file of translations too, or a .tsv or .jsonl"
        )
    if len(paths) == 2 and tables:
        raise DataError(f"{tables[0]}: this file holds both sides; give it alone")
    if len(paths) == 2 and os.path.samefile(*paths):
        raise DataError(
            f"{paths[1]}: the same file is given for source and target; give the translations"
        )


def language_codes(paths: Sequence[Path]) -> tuple[str, str] | None:
    """The languages in the names of files: train.en and train.de, or corpus.en-de.tsv."""
    stems = [re.sub(r"(\.(txt|tsv|jsonl))?(\.gz)?$", "", path.name) for path in paths]
    if len(stems) == 2:
        found = [match[1] for stem in stems if (match := _ONE_CODE.search(stem))]
    else:
        match = _TWO_CODES.search(stems[0]) if stems else None
        found = list(match.groups()) if match else []
    if len(found) != 2 or found[0] == found[1] or _NO_CODES.intersection(found):
        return None
    return found[0], found[1]


def held_out(source: str, seed: int, share: float) -> bool:
    """Whether a sentence belongs to the held-out share; the answer is always the same for it."""
    text = f"{seed}:{source}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(text, digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


def kind_of(path: Path) -> str:
    """The suffix that says what a file holds, without that of a compression."""
    return Path(path.name.removesuffix(".gz").removesuffix(".bz2")).suffix


def check_file(path: Path) -> None:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file{_suggestion(path)}") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    if path.is_dir():
        raise DataError(f"{path}: this is a folder; give the file in it")
    if not os.access(path, os.R_OK):
        raise DataError(f"{path}: no permission to read; change it with chmod +r")
    if path.is_file() and status.st_size == 0:
        raise _empty(path)


def _suggestion(path: Path) -> str:
    if hint := fetch_hint(path):
        return f"; {hint}"
    try:
        names = os.listdir(path.parent)
    except OSError:
        return f", nor a folder {path.parent}; check the path"
    near = difflib.get_close_matches(path.name, names, n=2)
    return f"; did you mean {' or '.join(near)}?" if near else "; check the path"


def _empty(path: Path) -> DataError:
    match kind_of(path):
        case ".tsv":
            wanted = "one example on each line, with tabs between its columns"
        case ".jsonl":
            wanted = "one object on each line"
        case ".conllu" | ".conll":
            wanted = "one word on each line, and an empty line after each sentence"
        case _:
            wanted = "one sentence on each line"
    return DataError(f"{path}: the file is empty; give {wanted}")


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"{path}: cannot be read ({error.strerror or error}); check the file")


def _raw_lines(path: Path) -> Generator[bytes]:
    """Lines as bytes, without line end or byte order mark. Only one line is in memory at a time."""
    number, size = 0, 0
    zipped = path.suffix in (".gz", ".bz2")
    try:
        with path.open("rb") as raw, _unpacked(raw, path.suffix) as file:
            while line := file.readline(LONGEST_LINE_BYTES + 1):
                number += 1
                size += len(line)
                if number == 1:
                    line = line.removeprefix(_BYTE_ORDER_MARK)
                    if not line:
                        raise _empty(path)
                if len(line) > LONGEST_LINE_BYTES:
                    raise DataError(
                        f"{path}:{number}: the line is longer than {LONGEST_LINE_BYTES} bytes;"
                        " put one sentence on each line"
                    )
                if zipped and size > SMALLEST_SUSPECT_BYTES:
                    _check_growth(path, number, size, raw.tell())
                yield line.removesuffix(b"\n").removesuffix(b"\r")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            f"{path}:{number + 1}: damaged {'gzip' if path.suffix == '.gz' else 'bzip2'} ({error});"
            " make or fetch the file again"
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    if number == 0:
        raise _empty(path)


def _unpacked(raw: BinaryIO, suffix: str) -> AbstractContextManager[BinaryIO]:
    match suffix:
        case ".gz":
            return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
        case ".bz2":
            return bz2.BZ2File(raw)  # type: ignore[return-value]
    return nullcontext(raw)


def _check_growth(path: Path, number: int, size: int, packed_size: int) -> None:
    if size > LARGEST_GZIP_RATIO * packed_size:
        raise DataError(
            f"{path}:{number}: the file unpacks to more than {LARGEST_GZIP_RATIO} times its size,"
            " which text does not; unpack it yourself if you trust it"
        )


def _decoded(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode()) + 1
        raise DataError(
            f"{path}:{number}: not valid UTF-8 (byte 0x{line[error.start]:02x} at column {column});"
            " save the file as UTF-8"
        ) from None


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """Each line with its place."""
    for number, line in enumerate(_raw_lines(path), start=1):
        yield _decoded(line, path, number), f"{path}:{number}"


def _aligned(source_path: Path, target_path: Path) -> Iterator[Pair]:
    with (
        closing(_raw_lines(source_path)) as sources,
        closing(_raw_lines(target_path)) as targets,
    ):
        number = 0
        for source in sources:
            target = next(targets, None)
            if target is None:
                raise _uneven(source_path, number + 1 + _count(sources), target_path, number)
            number += 1
            yield Pair(
                _decoded(source, source_path, number),
                _decoded(target, target_path, number),
                f"{source_path}:{number}",
            )
        if further := _count(targets):
            raise _uneven(source_path, number, target_path, number + further)


def _count(lines: Iterable[bytes]) -> int:
    return sum(1 for _ in lines)


def _uneven(source_path: Path, sources: int, target_path: Path, targets: int) -> DataError:
    return DataError(
        f"{target_path}: {targets} lines, but {source_path} has {sources};"
        " each line of one file must translate the same line of the other"
    )


def _from_columns(path: Path) -> Iterator[Pair]:
    for line, place in lines(path):
        columns = line.split("\t")
        if len(columns) < 2 and line:
            raise DataError(
                f"{place}: no tab, so only one column; write source, tab, target on each line"
            )
        yield Pair(columns[0], columns[1] if line else "", place)


def _from_objects(path: Path, languages: tuple[str, str] | None) -> Iterator[Pair]:
    for line, place in lines(path):
        if not line.strip():
            yield Pair("", "", place)
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise DataError(f"{place}: not valid JSON; write one object on each line") from None
        if isinstance(entry, dict) and isinstance(entry.get("translation"), dict):
            entry = entry["translation"]
        yield Pair(*_two_texts(entry, languages, place), place)


def _two_texts(entry: object, languages: tuple[str, str] | None, place: str) -> tuple[str, str]:
    for keys in (("source", "target"), languages):
        if keys and isinstance(entry, dict) and keys[0] in entry and keys[1] in entry:
            source, target = entry[keys[0]], entry[keys[1]]
            if isinstance(source, str) and isinstance(target, str):
                return source, target
            raise DataError(f'{place}: "{keys[0]}" and "{keys[1]}" must both be text in quotes')
    wanted = '"source" and "target"' + (
        f' or "{languages[0]}" and "{languages[1]}"' if languages else ""
    )
    advice = "rename the keys" if languages else "rename the keys, or name the languages"
    raise DataError(f"{place}: no {wanted} in the object; {advice}")
