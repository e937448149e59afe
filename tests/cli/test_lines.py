"""Texts in and answers out: files, pipes and terminals."""

import bz2
import gzip
import io
import os
import pty
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from regard.cli import lines
from regard.cli.lines import FileFlags, batches, whole_text
from regard.errors import DataError, RequestError

NOTHING = FileFlags()


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[IO[bytes]]:
    """The end of standard input that another program writes to."""
    inner, outer = os.pipe()
    with os.fdopen(inner, encoding="utf-8") as stdin, os.fdopen(outer, "wb", 0) as writer:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield writer


@contextmanager
def standard_input(path: Path, text: bytes) -> Iterator[None]:
    path.write_bytes(text)
    with path.open(encoding="utf-8") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", file)
        yield


def test_a_line_of_a_pipe_is_answered_before_the_next_is_written(pipe: IO[bytes]) -> None:
    found = batches((), NOTHING, 10)
    for text in ("one", "two", "three"):
        pipe.write(f"{text}\n".encode())
        assert next(found) == [text]
    pipe.close()
    assert list(found) == []


def test_half_a_line_waits_for_its_end(pipe: IO[bytes]) -> None:
    found = batches((), NOTHING, 10)
    pipe.write(b"one\ntw")
    assert next(found) == ["one"]
    pipe.write(b"o\nthree")
    assert next(found) == ["two"]
    pipe.close()
    assert list(found) == [["three"]]


def test_lines_that_came_together_are_a_batch(pipe: IO[bytes]) -> None:
    pipe.write(b"".join(b"%d\n" % number for number in range(25)))
    pipe.close()
    found = list(batches((), NOTHING, 10))
    assert [len(batch) for batch in found] == [10, 10, 5]
    assert [int(text) for batch in found for text in batch] == list(range(25))


def test_more_than_a_pipe_holds_arrives_in_order(pipe: IO[bytes]) -> None:
    count = 30_000

    def write() -> None:
        for number in range(count):
            pipe.write(b"line number %d\n" % number)
        pipe.close()

    writer = threading.Thread(target=write)
    writer.start()
    texts = [text for batch in batches((), NOTHING, 100) for text in batch]
    writer.join()
    assert texts == [f"line number {number}" for number in range(count)]


def test_the_end_at_once_is_no_line(pipe: IO[bytes]) -> None:
    pipe.close()
    assert list(batches((), NOTHING, 10)) == []


def test_carriage_returns_and_empty_lines(pipe: IO[bytes]) -> None:
    pipe.write("a\r\n\r\n\nb\u2028c\n".encode())
    pipe.close()
    assert list(batches((), NOTHING, 10)) == [["a", "", "", "b\u2028c"]]


def test_lines_before_a_wrong_one_are_answered(pipe: IO[bytes]) -> None:
    pipe.write(b"one\ntwo\n\xff\nfour\n")
    pipe.close()
    found = batches((), NOTHING, 10)
    assert next(found) == ["one", "two"]
    with pytest.raises(DataError, match=r"standard input:3: not valid UTF-8 \(byte 0xff\)"):
        next(found)


def test_a_line_without_end_is_refused(pipe: IO[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    writer = threading.Thread(target=pipe.write, args=(b"one\n" + bytes(100_000),))
    writer.start()
    found = batches((), NOTHING, 10)
    assert next(found) == ["one"]
    with pytest.raises(DataError, match="standard input:2: the line is longer than"):
        next(found)
    os.read(sys.stdin.fileno(), 100_000)
    writer.join()


def test_a_file_is_read_in_full_batches(tmp_path: Path) -> None:
    text = b"".join(b"%d\r\n" % number for number in range(25))
    with standard_input(tmp_path / "in", text):
        assert [len(batch) for batch in batches((), NOTHING, 10)] == [10, 10, 5]


def test_input_that_is_no_file_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo")))
    assert list(batches((), NOTHING, 10)) == [["one", "two"]]


@pytest.mark.parametrize(
    ("name", "pack"), [("a", bytes), ("a.gz", gzip.compress), ("a.bz2", bz2.compress)]
)
def test_input_from_a_file(tmp_path: Path, name: str, pack: type[bytes]) -> None:
    path = tmp_path / name
    path.write_bytes(pack(b"one\r\n\ntwo"))
    files = FileFlags(input=path)
    files.check()
    assert list(batches((), files, 2)) == [["one", ""], ["two"]]
    assert whole_text(path) == "one\n\ntwo"


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    files = FileFlags(input=path)
    files.check()
    assert list(batches((), files, 2)) == []
    assert whole_text(path) == ""


def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("one\n")
    with pytest.raises(RequestError, match="give texts or a file, not both"):
        FileFlags(input=path).check(["one"])
    with pytest.raises(DataError, match="there is no such file"):
        FileFlags(input=tmp_path / "no").check()
    with pytest.raises(RequestError, match="is what is read"):
        FileFlags(input=path, output=path).check()
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(RequestError, match="is what is read"):
        FileFlags(input=path, output=tmp_path / "link").check()
    with pytest.raises(RequestError, match="it is a folder"):
        FileFlags(output=tmp_path).check()
    with pytest.raises(RequestError, match="no folder "):
        FileFlags(output=tmp_path / "no" / "out").check()
    with standard_input(path, b"one\n"), pytest.raises(RequestError, match="is what is read"):
        FileFlags(output=path).check()


@pytest.mark.parametrize(("name", "unpack"), [("o", bytes), ("o.gz", gzip.decompress)])
def test_output_to_a_file(tmp_path: Path, name: str, unpack: type[bytes]) -> None:
    path = tmp_path / name
    path.write_text("old")
    with FileFlags(output=path).answers():
        print("é")
        assert path.read_text() == "old"
    assert unpack(path.read_bytes()) == "é\n".encode()
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_output_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def interrupted() -> None:
        with FileFlags(output=path).answers():
            print("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_output_to_a_device_or_through_a_link(tmp_path: Path) -> None:
    with FileFlags(output=Path(os.devnull)).answers():
        print("gone")
    assert not Path(os.devnull).is_file()
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with FileFlags(output=link).answers():
        print("new")
    assert (target.read_text(), link.is_symlink()) == ("new\n", True)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The keyboard of a terminal that is standard input; standard output is a file."""
    keyboard, screen = pty.openpty()
    with os.fdopen(screen, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield keyboard
    os.close(keyboard)


def test_a_terminal_has_a_prompt(terminal: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = batches((), NOTHING, 10, "fr")
    os.write(terminal, "\nÇa va ?\n\x04".encode())
    assert list(found) == [["Ça va ?"]]
    shown = capsys.readouterr()
    assert shown.out == ""
    first, *prompts = shown.err.splitlines()
    assert first.endswith("Ctrl-D ends.")
    assert prompts == ["fr> fr> fr> "]


def test_nothing_is_shown_in_a_pipe(pipe: IO[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    pipe.write(b"one\n")
    pipe.close()
    assert list(batches((), NOTHING, 10, "fr")) == [["one"]]
    assert capsys.readouterr() == ("", "")
