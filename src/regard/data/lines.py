"""Files of lines: every line knows its place. Plain or compressed, and never whole in memory.

Files are read as bytes and cut at line feeds only. Python's text mode and `str.splitlines` also
cut at U+2028 and other characters, which would shift every later line against its translation.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import io
import os
import stat
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from regard.data.formats import HEAD_BYTES, other_encoding, refuse_content, refuse_ending
from regard.datasets import fetch_hint
from regard.errors import DataError

# Files of words with labels.
CONLL = (".conll", ".conllu")
ZIPPED = (".gz", ".bz2")
LONGEST_LINE_BYTES = 16_000_000
# Compression makes text three to ten times smaller; a file that grows more is not ordinary text.
LARGEST_GZIP_RATIO = 100
SMALLEST_SUSPECT_BYTES = 8_000_000

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def kind_of(path: Path) -> str:
    """The ending that says what a file holds, without that of a compression: .tsv of X.TSV.gz."""
    return Path(path.name.lower().removesuffix(".gz").removesuffix(".bz2")).suffix


def check_file(path: Path, kinds: Sequence[str] = ()) -> None:
    """Find what shows without reading all: a file that is missing, unreadable, empty, not text.
    `kinds` are the endings of files other than text that can be read, too.
    """
    other = kind_of(path) in kinds
    if not other:
        refuse_ending(path, kind_of(path))
    if check_place(path).st_size == 0 and path.is_file():
        raise _empty(path)
    if path.is_file() and not other:
        refuse_content(path, head(path))
        if path.suffix.lower() in ZIPPED:
            refuse_growth(path)


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
    if stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode):
        raise DataError(
            f"{path}: this is a pipe, and regard reads a file more than once; "
            "write the text to a file first"
        )
    return status


def check_data_file(path: Path, kinds: Sequence[str] = ()) -> None:
    """A file of training data, which is read several times."""
    check_file(path, kinds)


def head(path: Path) -> bytes:
    """The first bytes, unpacked; none of a file that is damaged, which reading will report."""
    try:
        with path.open("rb") as raw, _unpacked(raw, path.suffix.lower()) as file:
            return file.read(HEAD_BYTES)
    except (EOFError, zlib.error, OSError):
        return b""


def refuse_growth(path: Path) -> None:
    """Refuse what grows too much from the beginning, before anybody goes through its lines."""
    try:
        with path.open("rb") as raw, _unpacked(raw, path.suffix.lower()) as file:
            size, packed_size = len(file.read(SMALLEST_SUSPECT_BYTES + 1)), raw.tell()
    except (EOFError, zlib.error, OSError):
        return  # damaged, which reading will report
    if size > SMALLEST_SUSPECT_BYTES:
        _check_growth(path, 1, size, packed_size)


def chunks(path: Path, size: int = HEAD_BYTES) -> Generator[bytes]:
    """A file in pieces, unpacked, for formats without lines."""
    total = 0
    suffix = path.suffix.lower()
    with reading(path), path.open("rb") as raw, _unpacked(raw, suffix) as file:
        while piece := file.read(size):
            total += len(piece)
            if suffix in ZIPPED and total > SMALLEST_SUSPECT_BYTES:
                _check_growth(path, 1, total, raw.tell())
            yield piece


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Name the file in what goes wrong while it is read."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: damaged ({error}); make or fetch the file again") from None
    except OSError as error:
        raise _unreadable(path, error) from None


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """Each line with its place."""
    for number, line in enumerate(raw_lines(path), start=1):
        yield decoded(line, path, number), f"{path}:{number}"


def raw_lines(path: Path) -> Generator[bytes]:
    """Lines as bytes, without line end or byte order mark. Only one line is in memory at a time."""
    number, size = 0, 0
    suffix = path.suffix.lower()
    zipped = suffix in ZIPPED
    try:
        with path.open("rb") as raw, _unpacked(raw, suffix) as file:
            for number, line in enumerate(lines_in(file, str(path)), start=1):
                size += len(line)
                if not line:  # the file is a byte order mark and nothing else
                    raise _empty(path)
                if zipped and size > SMALLEST_SUSPECT_BYTES:
                    _check_growth(path, number, size, raw.tell())
                yield without_end(line)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            f"{path}:{number + 1}: damaged {'gzip' if suffix == '.gz' else 'bzip2'} ({error});"
            " make or fetch the file again"
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    if number == 0:
        raise _empty(path)


def lines_in(file: BinaryIO, where: str) -> Iterator[bytes]:
    """The lines of an open file with their ends, without a byte order mark."""
    number = 0
    while line := file.readline(LONGEST_LINE_BYTES + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if len(line) > LONGEST_LINE_BYTES:
            raise DataError(
                f"{where}:{number}: the line is longer than {LONGEST_LINE_BYTES} bytes;"
                " put one sentence on each line"
            )
        yield line


def without_end(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


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
        names = [name for name in os.listdir(path.parent) if name != path.name]
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
        case ".tmx" | ".xlsx" | ".zip" | ".po" | ".xlf" | ".xliff":
            wanted = "a file with sentences and their translations"
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
            return io.BufferedReader(Bzip2(raw))
    return nullcontext(raw)


class Bzip2(io.RawIOBase):
    """What a .bz2 holds, in one stream or several. Python's own class takes a stream that is
    damaged at its beginning for the end of the file.
    """

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._stream = bz2.BZ2Decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        while True:
            more = self._stream.unused_data if self._stream.eof else b""
            if self._stream.eof:
                if not (more := more or self._packed.read(HEAD_BYTES)):
                    return 0
                self._stream = bz2.BZ2Decompressor()
            elif self._stream.needs_input and not (more := self._packed.read(HEAD_BYTES)):
                raise EOFError("it ends in the middle")
            try:
                piece = self._stream.decompress(more, len(view))
            except OSError as error:
                raise EOFError(str(error)) from None
            if piece:
                view[: len(piece)] = piece
                return len(piece)


def _check_growth(path: Path, number: int, size: int, packed_size: int) -> None:
    if size > LARGEST_GZIP_RATIO * packed_size:
        raise DataError(
            f"{path}:{number}: the file unpacks to more than {LARGEST_GZIP_RATIO} times its size,"
            " which text does not; unpack it yourself if you trust it"
        )
