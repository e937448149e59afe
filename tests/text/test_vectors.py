"""Vectors of words from the files that others make."""

import struct
from pathlib import Path

import numpy as np
import pytest

from regard.errors import DataError
from regard.text.vectors import read_vectors

WORDS = {"cat": [1.0, 2.0], "Dog": [3.0, 4.0], "rare": [5.0, 6.0]}


@pytest.fixture(params=["glove.txt", "word2vec.txt", "word2vec.bin"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    header = b"" if request.param == "glove.txt" else b"3 2\n"
    if path.suffix == ".bin":
        body = b"".join(
            word.encode() + b" " + struct.pack("<2f", *vector) + b"\n"
            for word, vector in WORDS.items()
        )
    else:
        rows = (" ".join([word, *map(str, vector)]) for word, vector in WORDS.items())
        body = "".join(f"{row}\n" for row in rows).encode()
    path.write_bytes(header + body)
    return path


def test_the_wanted_words_are_found(path: Path) -> None:
    found = read_vectors(path, {"cat", "dog", "unheard"}, 2)
    assert found.keys() == {"cat", "dog"}
    assert np.array_equal(found["dog"], [3.0, 4.0])


def test_another_width_is_refused(path: Path) -> None:
    with pytest.raises(DataError, match="vectors of 2 numbers, the model's have 5"):
        read_vectors(path, {"cat"}, 5)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    cut = tmp_path / "cut.bin"
    cut.write_bytes(b"2 2\ncat \0\0")
    with pytest.raises(DataError, match="ends within a vector"):
        read_vectors(cut, {"cat"}, 2)
    odd = tmp_path / "odd.txt"
    odd.write_bytes(b"cat 1 two\n")
    with pytest.raises(DataError, match=r"odd\.txt:1: not a word and its numbers"):
        read_vectors(odd, {"cat"}, 2)
