"""Vectors of words in the forms of Word2Vec and GloVe: text, or Word2Vec's binary form."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError
from regard.small_files import open_regular

LONGEST_WORD_BYTES = 2000
LONGEST_LINE_BYTES = 1_000_000
Vectors = dict[str, NDArray[np.float32]]


def read_vectors(path: Path, wanted: set[str], width: int) -> Vectors:
    """The vectors of the wanted words that a file contains. If a word is missing, its vector in
    another case is taken.
    """
    with entries_of(path) as entries:
        return chosen(entries, wanted, width, path)


def vector_width(path: Path) -> int:
    """How many numbers the vectors of a file have."""
    with entries_of(path) as entries:
        for _, vector in entries:
            return len(vector)
    raise no_vectors(path)


@contextmanager
def entries_of(path: Path) -> Iterator[Iterator[tuple[str, NDArray[np.float32]]]]:
    """The words of a file with their vectors. It is binary if its name ends in .bin or .bin.gz."""
    try:
        with opened(path) as file:
            binary = path.name.removesuffix(".gz").endswith(".bin")
            yield binary_entries(file, path) if binary else text_entries(file, path)
    except FileNotFoundError:
        raise DataError(
            f"{path}: there is no such file of vectors; data.embeddings begins at data.folder"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read ({reason}); check the file") from None


def opened(path: Path) -> AbstractContextManager[BinaryIO]:
    file = open_regular(path, links=True)
    if path.suffix != ".gz":
        return file
    unpacked = gzip.GzipFile(fileobj=file, mode="rb")
    unpacked.myfileobj = file  # type: ignore[assignment]  # both are closed together
    return unpacked  # type: ignore[return-value]


def chosen(
    entries: Iterator[tuple[str, NDArray[np.float32]]], wanted: set[str], width: int, path: Path
) -> Vectors:
    found: Vectors = {}
    spare: Vectors = {}
    lowered = {word.lower() for word in wanted}
    none_yet = True
    for word, vector in entries:
        none_yet = False
        if len(vector) != width:
            raise DataError(
                f"{path}: vectors of {len(vector)} numbers, the model's have {width}; "
                f"set model.d_model={len(vector)}"
            )
        if word in wanted:
            found.setdefault(word, vector)
        elif word.lower() in lowered:
            spare.setdefault(word.lower(), vector)
    if none_yet:
        raise no_vectors(path)
    for word in wanted - found.keys():
        if word.lower() in spare:
            found[word] = spare[word.lower()]
    return found


def no_vectors(path: Path) -> DataError:
    return DataError(f"{path}: no vectors in it; give a file with a word and its numbers a line")


def text_entries(file: BinaryIO, path: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """A word and its numbers on each line; Word2Vec's first line has two counts instead."""
    number = width = 0
    while line := file.readline(LONGEST_LINE_BYTES):
        number += 1
        word, *values = line.decode("utf-8", "replace").rstrip().split(" ")
        if (number == 1 and len(values) == 1) or not line.strip():
            continue
        try:
            vector = np.array(values, np.float32)
        except ValueError:
            raise not_vectors(line, f"{path}:{number}") from None
        if not values:
            raise not_vectors(line, f"{path}:{number}")
        width = width or len(vector)
        if len(vector) != width:
            raise DataError(
                f"{path}:{number}: {len(vector)} numbers, the first vector has {width}; "
                "fetch the file again, or mend the line"
            )
        yield word, vector


def not_vectors(line: bytes, place: str) -> DataError:
    try:
        if b"\0" not in line:
            line.decode()
            return DataError(f"{place}: not a word and its numbers, with spaces between them")
    except UnicodeDecodeError:
        pass
    return DataError(
        f"{place}: not a text of vectors; Word2Vec's binary form is read from a name that ends in "
        ".bin"
    )


def binary_entries(file: BinaryIO, path: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Counts on the first line, then each word, a space and its numbers of four bytes."""
    try:
        count, width = map(int, file.readline(100).split())
    except ValueError:
        raise DataError(
            f"{path}: not Word2Vec's binary form (no counts at its beginning)"
        ) from None
    if not 0 < width <= 100_000:
        raise DataError(f"{path}: vectors of {width} numbers cannot be")
    for _ in range(count):
        word = bytearray()
        while (byte := file.read(1)) != b" ":
            if not byte or len(word) > LONGEST_WORD_BYTES:
                raise DataError(f"{path}: damaged (it ends within a word); fetch the file again")
            word += byte
        content = file.read(4 * width)
        if len(content) < 4 * width:
            raise DataError(f"{path}: damaged (it ends within a vector); fetch the file again")
        yield word.decode("utf-8", "replace").strip(), np.frombuffer(content, "<f4").copy()


def write_vectors(
    path: Path, words: Sequence[str], vectors: NDArray[np.float32], binary: bool = False
) -> None:
    """Write vectors [V, d] in Word2Vec's text form, or in its binary form."""
    with path.open("wb") as file:
        file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
        for word, vector in zip(words, vectors, strict=True):
            if binary:
                numbers = vector.astype("<f4").tobytes()
            else:
                numbers = " ".join(f"{value:.6g}" for value in vector.tolist()).encode()
            file.write(word.encode() + b" " + numbers + b"\n")
