"""Files that are broken, or meant to break something: each is refused with a sentence."""

import struct

import pytest

from regard.errors import DataError
from regard.text.documents.document import Wish
from regard.text.documents.formats import read_document
from tests.text.documents.samples import FILES, PO, XLIFF_1, archive, docx

BOMB = b'<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><resources>&b;</resources>'
REFUSED = {
    "a doctype": ("strings.xml", BOMB, r"strings\.xml:1: has a document type"),
    "an external entity": (
        "a.xlf",
        b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><xliff version="1.2"/>',
        "document type",
    ),
    "a doctype in an archive": (
        "a.docx",
        archive({"word/document.xml": BOMB}),
        r"a\.docx:word/document\.xml:1: has a document type",
    ),
    "deep XML": ("strings.xml", b"<a>" * 5000 + b"</a>" * 5000, "nested more than"),
    "half a file": ("one.xlf", XLIFF_1[:400], "not valid XML"),
    "other XML": ("a.xml", b"<project/>", "is <project>, not <resources>"),
    "another XLIFF": ("a.xlf", b'<xliff version="3.0"/>', "is XLIFF 3.0"),
    "no archive": ("a.docx", b"PK\3\4 not really", "is no or a damaged document"),
    "an old document": ("a.docx", b"\xd0\xcf\x11\xe0" + bytes(99), "is an encrypted or old"),
    "another archive": ("a.odt", docx(""), r"has no content\.xml"),
    "a path outside": (
        "a.docx",
        archive({"word/document.xml": "<a/>", "../../x": ""}),
        r"a member with the name '\.\./\.\./x'",
    ),
    "a bomb": (
        "a.docx",
        archive({"word/document.xml": bytes(9 << 20)}),
        "has a member of 9,437,184",
    ),
    "many members": (
        "a.odt",
        archive({f"{number}": "" for number in range(10_001)}),
        "has 10,001 members",
    ),
    "bytes that are no text": ("a.po", b'msgid "\xff"\nmsgstr ""\n', "a.po:1: not valid UTF-8"),
    "null characters": ("a.txt", b"a\0b", "null characters"),
    "an unknown encoding": (
        "a.po",
        b'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=klingon\\n"\n',
        "encoding 'klingon', which is unknown",
    ),
    "a string without end": ("a.po", b'msgid "a\nmsgstr ""\n', "a.po:1: a string has no end"),
    "a line of something else": ("a.po", b"hello\n", "a.po:1: not a line of a PO file"),
    "no JSON": ("a.json", b'{"a": }', "a.json:1: not valid JSON"),
    "deep JSON": ("a.json", b"[" * 99_999, "not valid JSON"),
    "no YAML": ("a.yaml", b"a: [1\nb: 2", "not valid YAML"),
    "no subtitles": ("a.srt", b"Hello", "has no timing"),
    "no WebVTT": ("a.vtt", b"00:01.000 --> 00:02.000\nx", "does not begin with WEBVTT"),
    "unknown columns": ("a.csv", b"a,b\n1,2\n", "it has a, b: choose with --column"),
    "another kind": ("a.pdf", b"%PDF", r"documents of the kind \.pdf cannot be translated"),
    "another target": ("a.po", PO.replace(b"Language: de", b"Language: fr"), r"to French \(fr\)"),
    "another source": ("a.xlf", XLIFF_1.replace(b'"en"', b'"it"'), r"from Italian \(it\)"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_bad_file_is_refused_with_a_sentence(what: str) -> None:
    name, data, sentence = REFUSED[what]
    with pytest.raises(DataError, match=sentence) as caught:
        read_document(name, data, Wish("en", "de"))
    assert "\n" not in str(caught.value)


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(DataError, match="has no column 'x'"):
        read_document("a.csv", b"a,b\n1,2\n", Wish("en", "de", column="x"))


def test_an_encrypted_member_is_refused() -> None:
    data = bytearray(docx("<w:p/>"))
    central = data.index(b"PK\1\2")
    data[central + 8] |= 1
    with pytest.raises(DataError, match="is encrypted"):
        read_document("a.docx", bytes(data), Wish())


def test_a_member_that_is_larger_than_it_says_is_not_unpacked() -> None:
    data = bytearray(archive({"word/document.xml": b"<a>" + b" " * 5000 + b"</a>"}))
    central = data.index(b"PK\1\2")
    data[central + 24 : central + 28] = struct.pack("<L", 100)
    with pytest.raises(DataError):
        read_document("a.docx", bytes(data), Wish())


@pytest.mark.parametrize("name", ["a.docx", "a.odt", "a.xlsx"])
def test_half_an_archive_is_refused(name: str) -> None:
    for length in (50, len(FILES[name]) // 2, len(FILES[name]) - 10):
        with pytest.raises(DataError):
            read_document(name, FILES[name][:length], Wish("en", "de"))


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_read_or_refused(name: str) -> None:
    """One byte at a time is another one: nothing but a DataError may come out."""
    data = FILES[name]
    for place in range(0, len(data), max(1, len(data) // 20)):
        for byte in (0, 0x3C, 0xFF):
            damaged = data[:place] + bytes([byte]) + data[place + 1 :]
            try:
                document = read_document(name, damaged, Wish("en", "de"))
            except DataError:
                continue
            assert document.write({}) == damaged


def test_a_character_that_the_encoding_does_not_have_is_named() -> None:
    document = read_document("latin.po", FILES["latin.po"], Wish("en", "de"))
    with pytest.raises(DataError, match="'→' of a translation cannot be written in ISO-8859-1"):
        document.write({0: ("→",)})
