"""Uploaded files and downloads."""

import pytest

from regard.serve.http.refusal import Refusal
from regard.serve.translation.files import Downloads, read_text, translated_name
from tests.serve.conftest import Clock


def test_downloads_expire_and_make_room() -> None:
    clock = Clock()
    downloads = Downloads(100, clock)
    first = downloads.keep("a.txt", b"x" * 60)
    second = downloads.keep("b.txt", b"y" * 60)
    assert downloads.fetch(second).name == "b.txt"
    with pytest.raises(Refusal, match="no longer"):
        downloads.fetch(first)
    clock.now += 3600
    with pytest.raises(Refusal):
        downloads.fetch(second)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("report.TXT", "report_de.txt"),
        ("../../etc/passwd.txt", "passwd_de.txt"),
        ("C:\\x\\a b.html", "a_b_de.html"),
        ('"; evil\r\n.txt', "evil_de.txt"),
        ("é.txt", "text_de.txt"),
        ("...txt", "text_de.txt"),
        ("x" * 500 + ".txt", "x" * 80 + "_de.txt"),
    ],
)
def test_a_download_has_a_harmless_name(given: str, expected: str) -> None:
    assert translated_name(given, "de") == expected


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("a.exe", b"x", "file format not supported"),
        ("a", b"x", "file format not supported"),
        ("a.txt", b"", "empty file"),
        ("a.txt", b"\xff", "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(name: str, data: bytes, complaint: str) -> None:
    with pytest.raises(Refusal, match=complaint):
        read_text(name, data)
    assert read_text("A.HTML", b"\xef\xbb\xbf<p>") == ("<p>", True)
