import bz2
import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from regard.datasets import Made
from regard.datasets.convert import make
from regard.errors import DataError


def tar(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def test_lines_of_several_parts_stand_one_after_the_other(tmp_path: Path) -> None:
    tar(tmp_path / "a.tgz", {"in/a.en": b"one\ntwo", "in/a.de": b"eins\nzwei"})
    (tmp_path / "b.en").write_bytes(b"three\n")
    target = tmp_path / "train.en.gz"
    found = make(Made("train.en.gz", ("a.tgz:in/a.en", "b.en")), tmp_path, target)
    assert gzip.decompress(target.read_bytes()) == b"one\ntwo\nthree\n"
    assert found == hashlib.sha256(b"one\ntwo\nthree\n").hexdigest()


def test_the_same_text_gives_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\n")
    for name in ("x.gz", "y.gz"):
        make(Made(name, ("a",)), tmp_path, tmp_path / name)
    assert (tmp_path / "x.gz").read_bytes() == (tmp_path / "y.gz").read_bytes()


def test_white_space_becomes_single_spaces(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress("Ein  Hund\u00a0läuft. \r\n".encode()))
    make(Made("b", ("a.gz",), "single-spaces"), tmp_path, tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == "Ein Hund läuft.\n".encode()


def test_reviews_become_a_table(tmp_path: Path) -> None:
    files = {"r/pos/0_9.txt": b"Good.\tVery\ngood.", "r/neg/1_2.txt": b"Bad.", "r/x/2_1.txt": b"-"}
    tar(tmp_path / "r.tar.gz", files)
    file = Made("t.bz2", ("r.tar.gz:r/pos/", "r.tar.gz:r/neg/"), "reviews")
    make(file, tmp_path, tmp_path / "t.bz2")
    text = bz2.decompress((tmp_path / "t.bz2").read_bytes()).decode()
    assert text == "label\trating\ttext\n1\t9\tGood. Very good.\n0\t2\tBad.\n"


def test_the_shares_of_polarity_are_apart_and_complete(tmp_path: Path) -> None:
    good = [f"good {number} é" for number in range(11)]
    bad = [f"bad {number}" for number in range(11)]
    tar(
        tmp_path / "p.tgz",
        {"p/pos": "\n".join(good).encode("latin-1"), "p/neg": "\n".join(bad).encode()},
    )
    found: list[str] = []
    for share in ((0.0, 0.8), (0.8, 0.9), (0.9, 1.0)):
        file = Made("t", ("p.tgz:p/pos", "p.tgz:p/neg"), "polarity", share)
        make(file, tmp_path, tmp_path / "t")
        header, *lines = (tmp_path / "t").read_text("utf-8").splitlines()
        assert header == "label\ttext"
        found += lines
    assert sorted(found) == sorted([f"1\t{text}" for text in good] + [f"0\t{text}" for text in bad])


def test_sentences_get_tabs_and_one_empty_line_between_them(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("c/t.txt", "A DT B\ndog NN I\n\n\nIt PRP B\n\nruns VB B\n\n")
    file = Made("t.tsv", ("c.zip:c/t.txt",), "sentences", (0.0, 0.7))
    make(file, tmp_path, tmp_path / "t.tsv")
    assert (tmp_path / "t.tsv").read_text() == "A\tDT\tB\ndog\tNN\tI\n\nIt\tPRP\tB\n"


def test_a_name_in_an_archive_does_no_harm(tmp_path: Path) -> None:
    """Only members that the catalogue names are read, and nothing is written under their name."""
    inside = tmp_path / "inside"
    inside.mkdir()
    tar(inside / "a.tgz", {"../../evil": b"x", "good": b"fine\n"})
    make(Made("b", ("a.tgz:good",)), inside, inside / "b")
    assert (inside / "b").read_bytes() == b"fine\n"
    assert {path.name for path in tmp_path.rglob("*")} == {"inside", "a.tgz", "b"}


def test_a_link_in_an_archive_is_not_followed(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        link = tarfile.TarInfo("good")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    with pytest.raises(DataError, match="does not have what was expected"):
        make(Made("b", ("a.tgz:good",)), tmp_path, tmp_path / "b")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tgz", b"not an archive"),
        ("a.zip", b"not an archive"),
        ("a.gz", b"not an archive"),
        ("a.gz", gzip.compress(b"some text\n" * 100, mtime=0)[:-10]),
    ],
)
def test_a_damaged_archive_is_one_sentence(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name}: damaged"):
        make(Made("b", (f"{name}:inner",)), tmp_path, tmp_path / "b")


@pytest.mark.parametrize("name", ["a.tgz", "a.zip"])
def test_a_missing_member_is_told(tmp_path: Path, name: str) -> None:
    tar(tmp_path / "a.tgz", {"other": b"x"})
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("other", "x")
    with pytest.raises(DataError, match="does not have what was expected"):
        make(Made("b", (f"{name}:inner",)), tmp_path, tmp_path / "b")


def test_what_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.datasets.convert.SMALLEST_LIMIT", 10_000)
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"\n" * 10_000_000))
    with pytest.raises(DataError, match="far more than text would"):
        make(Made("b", ("a.gz",)), tmp_path, tmp_path / "b")
