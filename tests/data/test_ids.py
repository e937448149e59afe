import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from regard.data import ids
from regard.data.corpus import Pair
from regard.data.ids import IdPairs, write_ids
from regard.data.pair_filter import FilterReport
from regard.errors import DataError, RunError
from regard.text.tokenizer import END, Tokenizer

NUMBERS = ["one", "two", "three", "four", "five"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf"]
ENGLISH = Tokenizer.train(NUMBERS * 2, vocabulary_size=300)
GERMAN = Tokenizer.train(ZAHLEN * 2, vocabulary_size=300)


def some_pairs(count: int) -> Iterator[Pair]:
    for number in range(count):
        words = number % 7 + 1
        source = " ".join(NUMBERS[(number + word) % 5] for word in range(words))
        target = " ".join(ZAHLEN[(number + word) % 5] for word in range(words))
        yield Pair(source, target, f"t.en:{number + 1}")


def write(folder: Path, pairs: Iterator[Pair] | list[Pair], name: str = "train") -> FilterReport:
    return write_ids(pairs, ENGLISH, GERMAN, folder, name, max_length=50, max_ratio=4.0)


@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_what_is_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(ids, "CHUNK_PAIRS", chunk)
    assert write(tmp_path, some_pairs(50)) == FilterReport(50, 50, ())
    read = IdPairs.open(tmp_path, "train")
    assert len(read) == 50
    for i, pair in enumerate(some_pairs(50)):
        assert read.source(i).tolist() == [*ENGLISH.encode(pair.source), END]
        assert read.target(i).tolist() == [*GERMAN.encode(pair.target), END]
        assert read.source_lengths[i] == len(read.source(i))
        assert read.target_lengths[i] == len(read.target(i))
    assert read.source_lengths.dtype == read.target_lengths.dtype == np.int32
    assert read.source(0).dtype == np.int64
    assert read.source_tokenizer == ENGLISH.fingerprint
    assert read.target_tokenizer == GERMAN.fingerprint


def test_the_fingerprint_follows_the_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, some_pairs(20), "a")
    monkeypatch.setattr(ids, "CHUNK_PAIRS", 3)
    write(tmp_path, some_pairs(20), "b")
    write(tmp_path, some_pairs(21), "c")
    a, b, c = (IdPairs.open(tmp_path, name).fingerprint for name in "abc")
    assert a == b != c


def test_bad_pairs_are_dropped_and_the_rest_keep_their_order(tmp_path: Path) -> None:
    pairs = [
        *some_pairs(8),
        Pair("", "eins", "t.en:9"),
        Pair("one", "\0 \u2028", "t.en:10"),
        Pair("one " * 60, "eins " * 60, "t.en:11"),
        Pair("o" * 1_000_000, "eins", "t.en:12"),
        Pair("five", "fünf", "t.en:13"),
    ]
    report = write(tmp_path, pairs)
    assert report.lines() == [
        "9 of 13 pairs kept",
        "dropped: 2 too long (t.en:12, t.en:11)",
        "dropped: 1 empty source (t.en:9)",
        "dropped: 1 empty target (t.en:10)",
    ]
    read = IdPairs.open(tmp_path, "train")
    assert ENGLISH.decode(read.source(8).tolist()) == "five"
    assert GERMAN.decode(read.target(8).tolist()) == "fünf"


def test_text_far_too_long_is_not_encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 0
    encode_batch = Tokenizer.encode_batch

    def watch(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
        nonlocal longest
        longest = max(longest, *map(len, texts))
        return encode_batch(tokenizer, texts)

    monkeypatch.setattr(Tokenizer, "encode_batch", watch)
    write(tmp_path, [*some_pairs(8), Pair("o" * 1_000_000, "eins", "t.en:9")])
    assert 0 < longest < 10_000


def test_dropping_too_much_leaves_the_old_files(tmp_path: Path) -> None:
    write(tmp_path, some_pairs(5))
    before = IdPairs.open(tmp_path, "train").fingerprint
    with pytest.raises(DataError, match="5 of 10 pairs would be dropped"):
        write(tmp_path, [*some_pairs(5), *[Pair("one", "", "t.en:6")] * 5])
    assert IdPairs.open(tmp_path, "train").fingerprint == before
    assert sorted(os.listdir(tmp_path)) == ["train.ids", "train.index", "train.json"]


class Counted(str):
    alive = 0
    most = 0
    __slots__ = ()

    def __init__(self, _: str) -> None:
        Counted.alive += 1
        Counted.most = max(Counted.most, Counted.alive)

    def __del__(self) -> None:
        Counted.alive -= 1


def test_memory_does_not_grow_with_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ids, "CHUNK_PAIRS", 100)
    pairs = (Pair(Counted(pair.source), pair.target, pair.place) for pair in some_pairs(5_000))
    write(tmp_path, pairs)
    assert 100 <= Counted.most <= 201
    assert len(IdPairs.open(tmp_path, "train")) == 5_000


def test_chunks_of_long_sentences_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "CHUNK_CHARACTERS", 1000)
    sizes = [len(chunk) for chunk in ids._chunks(Pair("a" * 400, "b", "") for _ in range(7))]
    assert sizes == [3, 3, 1]


@pytest.mark.parametrize(("largest", "dtype"), [(2**16, "<u2"), (2**16 + 1, "<i4")])
def test_the_type_holds_every_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int, dtype: str
) -> None:
    monkeypatch.setattr(Tokenizer, "__len__", lambda _: largest)
    monkeypatch.setattr(Tokenizer, "encode_batch", lambda _, texts: [[largest - 1]] * len(texts))
    write(tmp_path, some_pairs(3))
    assert json.loads((tmp_path / "train.json").read_text())["dtype"] == dtype
    assert IdPairs.open(tmp_path, "train").target(2).tolist() == [largest - 1, END]


@pytest.mark.parametrize("ending", ["ids", "index", "json"])
@pytest.mark.parametrize("harm", ["missing", "shorter", "longer", "empty", "zeros"])
def test_a_damaged_file_is_named(tmp_path: Path, ending: str, harm: str) -> None:
    write(tmp_path, some_pairs(20))
    path = tmp_path / f"train.{ending}"
    content = path.read_bytes()
    match harm:
        case "missing":
            path.unlink()
        case "shorter":
            path.write_bytes(content[:-1])
        case "longer":
            path.write_bytes(content + b"x")
        case "empty":
            path.write_bytes(b"")
        case "zeros":
            path.write_bytes(bytes(len(content)))
    with pytest.raises(RunError, match=rf"train\.{ending}: "):
        IdPairs.open(tmp_path, "train")


@pytest.mark.parametrize("ending", ["ids", "index"])
def test_a_single_wrong_bit_is_found(tmp_path: Path, ending: str) -> None:
    write(tmp_path, some_pairs(20))
    path = tmp_path / f"train.{ending}"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    with pytest.raises(RunError, match=rf"train\.{ending}: damaged .* delete the folder"):
        IdPairs.open(tmp_path, "train")


def test_a_border_that_moved_between_two_sides_is_found(tmp_path: Path) -> None:
    write(tmp_path, some_pairs(20))
    index = np.fromfile(tmp_path / "train.index", ids._INDEX)
    index["source"][3] += 1
    index["target"][3] -= 1
    index.tofile(tmp_path / "train.index")
    with pytest.raises(RunError, match=r"train\.index: damaged .*checksum"):
        IdPairs.open(tmp_path, "train")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pairs", 10**30),
        ("pairs", 0),
        ("pairs", "20"),
        ("dtype", "O"),
        ("ids", -1),
        ("format", 2),
        ("sha256", {"ids": ""}),
    ],
)
def test_a_hostile_header_is_refused(tmp_path: Path, key: str, value: object) -> None:
    write(tmp_path, some_pairs(20))
    path = tmp_path / "train.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(RunError, match=r"train\.(json|index): damaged"):
        IdPairs.open(tmp_path, "train")


@pytest.mark.parametrize("entry", [0, 7, 19])
@pytest.mark.parametrize("field", ["offset", "source", "target"])
def test_an_index_that_points_elsewhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: int, field: str
) -> None:
    monkeypatch.setattr(ids, "CHECKED_ENTRIES", 6)
    write(tmp_path, some_pairs(20))
    index = np.fromfile(tmp_path / "train.index", ids._INDEX)
    index[field][entry] += 1
    index.tofile(tmp_path / "train.index")
    with pytest.raises(RunError, match=r"train\.index: damaged"):
        IdPairs.open(tmp_path, "train")


def test_a_file_that_shrinks_in_use_is_noticed(tmp_path: Path) -> None:
    write(tmp_path, some_pairs(20))
    read = IdPairs.open(tmp_path, "train")
    os.truncate(tmp_path / "train.ids", 10)
    assert read.source(0).size
    with pytest.raises(RunError, match=r"train\.ids: damaged .*shorter"):
        read.source(19)


def test_files_are_closed_with_the_pairs(tmp_path: Path) -> None:
    write(tmp_path, some_pairs(20))
    before = len(os.listdir("/dev/fd"))
    read = IdPairs.open(tmp_path, "train")
    assert read.target(3).size
    del read
    assert len(os.listdir("/dev/fd")) <= before


def test_a_full_disk_is_reported_and_leaves_the_old_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, some_pairs(5))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"cannot be written \(No space left on device\); make room"):
        write(tmp_path, some_pairs(9))
    assert len(IdPairs.open(tmp_path, "train")) == 5
    assert sorted(os.listdir(tmp_path)) == ["train.ids", "train.index", "train.json"]


def test_half_replaced_files_are_never_taken_for_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, some_pairs(5))
    replace = os.replace

    def fail_at_the_index(part: Path, path: Path) -> None:
        if path.suffix == ".index":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        replace(part, path)

    monkeypatch.setattr(os, "replace", fail_at_the_index)
    with pytest.raises(RunError, match="Input/output error"):
        write(tmp_path, some_pairs(5))
    with pytest.raises(RunError, match=r"train\.json: the encoded text cannot be read"):
        IdPairs.open(tmp_path, "train")
