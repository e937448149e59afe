"""Files of lines: compressed ones in several streams, pipes, and files that grow too much."""

import bz2
import gzip
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.data import lines
from regard.data.lines import check_data_file, check_file, raw_lines
from regard.errors import DataError

LINES = [b"line number %d" % number for number in range(1000)]


def streams(compress: Callable[[bytes], bytes]) -> tuple[bytes, int]:
    """The lines in ten streams, and where the third begins."""
    parts = [
        compress(b"".join(line + b"\n" for line in LINES[begin : begin + 100]))
        for begin in range(0, 1000, 100)
    ]
    return b"".join(parts), len(parts[0]) + len(parts[1])


@pytest.mark.parametrize(("ending", "compress"), [("bz2", bz2.compress), ("gz", gzip.compress)])
def test_all_streams_are_read(
    tmp_path: Path, ending: str, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"a.txt.{ending}"
    path.write_bytes(streams(compress)[0])
    assert list(raw_lines(path)) == LINES


@pytest.mark.parametrize(("ending", "compress"), [("bz2", bz2.compress), ("gz", gzip.compress)])
def test_damage_at_the_beginning_of_a_later_stream_is_an_error(
    tmp_path: Path, ending: str, compress: Callable[[bytes], bytes]
) -> None:
    content, begin = streams(compress)
    path = tmp_path / f"a.txt.{ending}"
    for position in (begin, begin + 1, begin + 30):
        path.write_bytes(content[:position] + b"!" + content[position + 1 :])
        with pytest.raises(DataError, match="damaged"):
            list(raw_lines(path))
    path.write_bytes(content[: begin + 40])
    with pytest.raises(DataError, match="damaged"):
        list(raw_lines(path))


def test_every_flipped_byte_of_a_bz2_is_found(tmp_path: Path) -> None:
    content = bz2.compress(b"one\n") + bz2.compress(b"two\n")
    path = tmp_path / "a.txt.bz2"
    for position in range(len(content)):
        path.write_bytes(
            content[:position] + bytes([content[position] ^ 0x10]) + content[position + 1 :]
        )
        try:
            found = list(raw_lines(path))
        except DataError:
            continue
        # The size of a block, and bits after the end of a stream, say nothing about the text.
        assert found == [b"one", b"two"], position


def test_a_pipe_is_refused_and_never_opened(tmp_path: Path) -> None:
    path = tmp_path / "pipe.txt"
    os.mkfifo(path)
    for check in (check_file, check_data_file):
        with pytest.raises(DataError, match=r"this is a pipe, .* write the text to a file first"):
            check(path)
    inner, outer = os.pipe()
    try:
        with pytest.raises(DataError, match="this is a pipe"):  # as <(…) names it
            check_file(Path(f"/dev/fd/{inner}"))
    finally:
        os.close(inner)
        os.close(outer)


def test_a_file_that_unpacks_to_nothing_but_line_ends_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(40):
            file.write(b"\n" * 1_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    with pytest.raises(DataError, match="unpacks to more than 100 times its size"):
        check_file(path)
    assert time.process_time() - started < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000


def test_a_name_is_not_suggested_for_itself(tmp_path: Path) -> None:
    (tmp_path / "dangling.txt").write_text("")
    (tmp_path / "dangling.tx").symlink_to(tmp_path / "nowhere")
    assert lines._suggestion(tmp_path / "dangling.tx") == "; did you mean dangling.txt?"
