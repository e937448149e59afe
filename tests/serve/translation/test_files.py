"""Uploaded files and downloads."""

import pytest

from regard.serve.http.refusal import Refusal
from regard.serve.translation.files import UNPACKED_BYTES, Downloads, read_file, translated_name
from regard.text.documents.document import Wish
from tests.serve.conftest import Clock
from tests.text.documents.samples import PO, archive


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
        ("menu.pot", "menu_de.po"),
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
        ("a.txt", b"\xff", "not valid UTF-8"),
        (
            "a.xlf",
            b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><xliff version="1.2"/>',
            "document type",
        ),
        ("a.docx", archive({"../../x": ""}), "a member with the name"),
        ("a.po", PO.replace(b"Language: de", b"Language: fr"), "to French"),
        ("a.odt", archive({f"{n}": bytes(4 << 20) for n in range(9)}), "bytes when it is unpacked"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(name: str, data: bytes, complaint: str) -> None:
    with pytest.raises(Refusal, match=complaint) as refused:
        read_file(name, data, Wish("en", "de"))
    assert refused.value.status == 400
    (segment,) = read_file("A.HTML", b"\xef\xbb\xbf<p>One", Wish()).segments
    assert segment.pieces == ("One",)
    assert UNPACKED_BYTES < 9 * (4 << 20)
