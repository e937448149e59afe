"""Files of lines: every line knows its place. Plain or compressed, and never whole in memory.

Files are read as bytes and cut at line feeds only. Python's text mode and `str.splitlines` also
cut at U+2028 and other characters, which would shift every later line against its translation.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import os
import zlib
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from regard.data.formats import HEAD_BYTES, other_encoding, refuse_content, refuse_ending
from regard.datasets import fetch_hint
from regard.errors import DataError

# Files of words with labels.
CONLL = (".conll", ".conllu")
LONGEST_LINE_BYTES = 16_000_000
# Compression makes text three to ten times smaller; a file that grows more is not ordinary text.
LARGEST_GZIP_RATIO = 100
SMALLEST_SUSPECT_BYTES = 8_000_000

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def kind_of(path: Path) -> str:
    """The ending that says what a file holds, without that of a compression: .tsv of X.TSV.gz."""
    return Path(path.name.lower().removesuffix(".gz").removesuffix(".bz2")).suffix


def check_file(path: Path) -> None:
    """Find what shows without reading all: a file that is missing, unreadable, empty, not text."""
    refuse_ending(path, kind_of(path))
    if check_place(path).st_size == 0 and path.is_file():
        raise _empty(path)
    if path.is_file():
        refuse_content(path, head(path))


def check_place(path: Path) -> os.stat_result:
    """Find a file that is missing or cannot be read, whatever it holds."""
    try:
        status = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise DataError(
                f"{path}: this is a link to {path.readlink()}, which is not there; check the path"
            ) from None
        raise DataError(f"{path}: there is no such file{_suggestion(path)}") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    if path.is_dir():
        raise DataError(f"{path}: this is a folder; give the file in it")
    if not os.access(path, os.R_OK):
        raise DataError(f"{path}: no permission to read; change it with chmod +r")
    return status


def check_data_file(path: Path) -> None:
    """A file of training data, which is read several times."""
    check_file(path)
    if path.is_fifo():
        raise DataError(
            f"{path}: this is a pipe, which can be read only once; write the text to a file first"
        )


def head(path: Path) -> bytes:
    """The first bytes, unpacked; none of a file that is damaged, which reading will report."""
    try:
        with path.open("rb") as raw, _unpacked(raw, path.suffix.lower()) as file:
            return file.read(HEAD_BYTES)
    except (EOFError, zlib.error, OSError):
        return b""


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """Each line with its place."""
    for number, line in enumerate(raw_lines(path), start=1):
        yield decoded(line, path, number), f"{path}:{number}"


def raw_lines(path: Path) -> Generator[bytes]:
    """Lines as bytes, without line end or byte order mark. Only one line is in memory at a time."""
    number, size = 0, 0
    suffix = path.suffix.lower()
    zipped = suffix in (".gz", ".bz2")
    try:
        with path.open("rb") as raw, _unpacked(raw, suffix) as file:
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
            f"{path}:{number + 1}: damaged {'gzip' if suffix == '.gz' else 'bzip2'} ({error});"
            " make or fetch the file again"
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    if number == 0:
        raise _empty(path)


def decoded(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode()) + 1
        byte = f"byte 0x{line[error.start]:02x} at column {column}"
        raise DataError(
            f"{path}:{number}: not valid UTF-8 ({byte}); {other_encoding(path, line, head(path))}"
        ) from None


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
        case ".csv":
            wanted = "one example on each line, with commas or semicolons between its columns"
        case ".jsonl":
            wanted = "one object on each line"
        case ".json":
            wanted = "a list of objects"
        case ".conllu" | ".conll":
            wanted = "one word on each line, and an empty line after each sentence"
        case _:
            wanted = "one sentence on each line"
    return DataError(f"{path}: the file is empty; give {wanted}")


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"{path}: cannot be read ({error.strerror or error}); check the file")


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
