import hashlib
import socket
from pathlib import Path

import pytest

from regard.datasets import Download
from regard.datasets.download import download
from regard.errors import DataError
from regard.reporter import SILENT
from tests.datasets.conftest import Publisher

TEXT = b"".join(b"line %d of a long file\n" % number for number in range(2000))


def offered(publisher: Publisher, content: bytes = TEXT, **values: object) -> Download:
    publisher.files["a.txt"] = content
    known = {"bytes": len(TEXT), "sha256": hashlib.sha256(TEXT).hexdigest(), **values}
    return Download("a.txt", publisher.url("a.txt"), **known)  # type: ignore[arg-type]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_file_arrives_whole(publisher: Publisher, tmp_path: Path) -> None:
    assert download(offered(publisher), tmp_path, SILENT).read_bytes() == TEXT
    assert names(tmp_path) == {"a.txt"}


def test_a_file_that_is_here_is_not_asked_for(publisher: Publisher, tmp_path: Path) -> None:
    download(offered(publisher), tmp_path, SILENT)
    download(offered(publisher), tmp_path, SILENT)
    assert len(publisher.asked) == 1


def test_other_content_is_refused_and_not_kept(publisher: Publisher, tmp_path: Path) -> None:
    wanted = offered(publisher, TEXT.replace(b"long", b"evil"))
    with pytest.raises(DataError, match="not the expected content"):
        download(wanted, tmp_path, SILENT)
    assert names(tmp_path) == set()
    assert download(wanted, tmp_path, SILENT, check=False).exists()


def test_a_missing_file_is_told(publisher: Publisher, tmp_path: Path) -> None:
    wanted = offered(publisher)
    publisher.files.clear()
    with pytest.raises(DataError, match="answered 404"):
        download(wanted, tmp_path, SILENT)
    assert len(publisher.asked) == 1
    assert names(tmp_path) == set()


def test_a_broken_connection_is_resumed(publisher: Publisher, tmp_path: Path) -> None:
    publisher.cut_after, publisher.cuts = 10_000, 2
    assert download(offered(publisher), tmp_path, SILENT).read_bytes() == TEXT
    assert [asked for _, asked in publisher.asked] == ["", "bytes=10000-", "bytes=20000-"]


def test_what_breaks_always_is_resumed_by_the_next_command(
    publisher: Publisher, tmp_path: Path
) -> None:
    publisher.cut_after = 5_000
    with pytest.raises(DataError, match="same command resumes"):
        download(offered(publisher), tmp_path, SILENT)
    assert "a.txt" not in names(tmp_path)
    publisher.cut_after = None
    assert download(offered(publisher), tmp_path, SILENT).read_bytes() == TEXT
    assert publisher.asked[-1][1] == "bytes=20000-"


def test_a_server_without_ranges_sends_all_again(publisher: Publisher, tmp_path: Path) -> None:
    publisher.takes_ranges = False
    publisher.cut_after, publisher.cuts = 10_000, 1
    assert download(offered(publisher), tmp_path, SILENT).read_bytes() == TEXT


def test_a_file_that_changed_meanwhile_starts_again(publisher: Publisher, tmp_path: Path) -> None:
    publisher.cut_after = 3_000
    wanted = offered(publisher, sha256="")
    with pytest.raises(DataError):
        download(wanted, tmp_path, SILENT)
    publisher.cut_after, publisher.tag = None, '"two"'
    other = offered(publisher, TEXT.upper(), sha256="")
    assert download(other, tmp_path, SILENT).read_bytes() == TEXT.upper()


def test_a_longer_part_than_the_file_starts_again(publisher: Publisher, tmp_path: Path) -> None:
    (tmp_path / "a.txt.part").write_bytes(TEXT + b"more")
    assert download(offered(publisher), tmp_path, SILENT).read_bytes() == TEXT


def test_a_redirection_is_followed(publisher: Publisher, tmp_path: Path) -> None:
    wanted = offered(publisher)
    publisher.redirects["old"] = publisher.url("a.txt")
    moved = Download("a.txt", publisher.url("old"), wanted.bytes, wanted.sha256)
    assert download(moved, tmp_path, SILENT).read_bytes() == TEXT


def test_a_redirection_to_a_file_is_refused(publisher: Publisher, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    publisher.redirects["old"] = secret.as_uri()
    with pytest.raises(DataError, match="answered 302"):
        download(Download("a", publisher.url("old"), 10), tmp_path, SILENT)


@pytest.mark.parametrize("says_length", [True, False])
def test_a_file_without_end_is_refused(
    publisher: Publisher, tmp_path: Path, says_length: bool
) -> None:
    publisher.says_length = says_length
    wanted = offered(publisher, bytes(2_000_000), bytes=1000)
    with pytest.raises(DataError, match=r"much larger than the expected 1 kB"):
        download(wanted, tmp_path, SILENT)
    assert "a.txt" not in names(tmp_path)


def test_a_slow_server_is_waited_for(publisher: Publisher, tmp_path: Path) -> None:
    publisher.pause_seconds = 0.005
    assert download(offered(publisher), tmp_path, SILENT).read_bytes() == TEXT


def test_a_silent_server_is_not(
    publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.datasets.download.TIMEOUT_SECONDS", 0.05)
    publisher.pause_seconds = 0.3
    with pytest.raises(DataError, match=r"no answer for 0 s.*same command resumes"):
        download(offered(publisher), tmp_path, SILENT)


def test_a_busy_server_is_asked_again(publisher: Publisher, tmp_path: Path) -> None:
    publisher.status = 503
    with pytest.raises(DataError, match="answered 503"):
        download(offered(publisher), tmp_path, SILENT)
    assert len(publisher.asked) == 4


def test_no_server_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DataError, match=r"127\.0\.0\.1 cannot be reached .*https_proxy"):
        download(Download("a", f"http://127.0.0.1:{port}/a", 10), tmp_path, SILENT)
    assert names(tmp_path) == set()


def test_a_proxy_of_the_environment_is_used(
    publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", publisher.address)
    monkeypatch.delenv("no_proxy", raising=False)
    publisher.files["http://example.org/a.txt"] = TEXT  # a proxy is asked for whole addresses
    wanted = Download("a.txt", "http://example.org/a.txt", len(TEXT))
    assert download(wanted, tmp_path, SILENT).read_bytes() == TEXT
