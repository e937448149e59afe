"""Vectors of words from files that other programs wrote."""

import struct
from pathlib import Path

import numpy as np
import pytest

from regard.errors import DataError
from regard.text.vectors import read_vectors, vector_width, write_vectors

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
    ragged = tmp_path / "ragged.txt"
    ragged.write_bytes(b"cat 1 2\ndog 1\n")
    with pytest.raises(DataError, match=r"ragged\.txt:2: 1 numbers, the first vector has 2"):
        read_vectors(ragged, {"cat"}, 2)
    odd = tmp_path / "odd.txt"
    odd.write_bytes(b"cat 1 two\n")
    with pytest.raises(DataError, match=r"odd\.txt:1: not a word and its numbers"):
        read_vectors(odd, {"cat"}, 2)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.txt", b""), ("a.txt", b"0 2\n"), ("a.txt", b"\n\n"), ("a.bin", b"0 2\n")],
)
def test_a_file_without_vectors_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="no vectors in it"):
        read_vectors(tmp_path / name, {"cat"}, 2)


@pytest.mark.parametrize(
    "content", [bytes(range(200, 250)), b"cat\0dog one two", b"3 2\ncat \x80?\0"]
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"not a text of vectors; .* ends in \.bin"):
        read_vectors(path, {"cat"}, 2)


def test_an_empty_line_at_the_end_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"cat 1 2\n\n")
    assert read_vectors(path, {"cat"}, 2).keys() == {"cat"}


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.txt: there is no such file of vectors; ") as raised:
        read_vectors(tmp_path / "a.txt", {"cat"}, 2)
    assert "Errno" not in str(raised.value)
    with pytest.raises(DataError, match=r"cannot be read \(Is a directory\)"):
        read_vectors(tmp_path, {"cat"}, 2)


@pytest.mark.parametrize("binary", [False, True])
def test_what_is_written_is_read_again(binary: bool, tmp_path: Path) -> None:
    path = tmp_path / ("vectors.bin" if binary else "vectors.txt")
    vectors = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    write_vectors(path, ["cat", "né", "…ing"], vectors, binary)
    assert vector_width(path) == 5
    found = read_vectors(path, {"cat", "né", "…ing"}, 5)
    assert np.allclose(np.stack([found[word] for word in ("cat", "né", "…ing")]), vectors, 1e-5)


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_what_is_written(binary: bool, tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim", reason="gensim is not installed")
    path = tmp_path / "vectors"
    vectors = np.random.default_rng(1).normal(size=(2, 4)).astype(np.float32)
    write_vectors(path, ["cat", "né"], vectors, binary)
    found = gensim.models.KeyedVectors.load_word2vec_format(str(path), binary=binary)
    assert found.index_to_key == ["cat", "né"]
    assert np.allclose(found.vectors, vectors, 1e-5)
