"""Files that are not text in UTF-8 are named, with what to do."""

import bz2
import gzip
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from regard.data.corpus import read_pairs
from regard.data.labelled import read_tagged, read_texts
from regard.data.texts import read_documents
from regard.errors import DataError

Reader = Callable[[list[Path]], Iterator[object]]

TEXT = "Où est la gare ?\nLà-bas, derrière l'église.\n" * 3
RUSSIAN = "Где вокзал?\nТам, за церковью.\n" * 3


@pytest.mark.parametrize("read", [read_pairs, read_texts, read_tagged, read_documents])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mem.sdltm", "a database of translations .*export it as .csv or .tsv with two columns"),
        ("a.xls", "a spreadsheet .*save the sheet as .csv"),
        ("a.ods", "a spreadsheet"),
        ("a.docx", "a document .*save its text as .txt"),
        ("a.pdf", "a document"),
        ("a.srt", "subtitles"),
        ("a.html.gz", "markup"),
        ("a.tar.gz", "an archive .*unpack it"),
        ("a.parquet", "a binary table .*to_csv"),
    ],
)
def test_an_ending_says_what_a_file_is(tmp_path: Path, read: Reader, name: str, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"x\n")
    with pytest.raises(DataError, match=said) as raised:
        list(read([path]))
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("read", [read_texts, read_tagged, read_documents])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("m.tmx", "a translation memory .*give it to --pairs"),
        ("mem.po", "a translation file .*give it to --pairs"),
        ("Mem.XLIFF", "a translation file .*give it to --pairs"),
        ("a.xlsx", "spreadsheet"),
        ("a.zip", "an"),
    ],
)
def test_files_of_pairs_are_read_as_pairs_only(
    tmp_path: Path, read: Reader, name: str, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b"x\n")
    with pytest.raises(DataError, match=said):
        list(read([path]))


def test_content_says_what_a_file_is(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("sheet.xml", "x")
    for content, said in (
        (path.read_bytes(), "a zip file, as .xlsx, .docx and .ods are"),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<tmx/>', "this is XML"),
        (b"%PDF-1.7\n", "this is a PDF"),
        (b"a\tb\rc\td\r", r"no line feed .* tr '\\r' '\\n' < "),
        (gzip.compress(b"a\tb\n"), "give it a name that ends in .gz"),
        (bz2.compress(b"a\tb\n"), "give it a name that ends in .bz2"),
        (bytes(range(256)) * 2 + b"\0" * 200, "202 of the first 712 bytes are NUL, .* binary"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=said):
            list(read_pairs([path]))


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        (TEXT, "utf-16", "UTF-16"),
        (TEXT, "utf-32", "UTF-32"),
        (TEXT, "utf-16-le", "UTF-16LE"),
        (TEXT, "utf-16-be", "UTF-16BE"),
        (TEXT, "utf-32-le", "UTF-32LE"),
        (TEXT, "utf-32-be", "UTF-32BE"),
        (RUSSIAN, "utf-16-le", "UTF-16LE"),
        (RUSSIAN, "utf-16", "UTF-16"),
        (TEXT, "latin-1", "WINDOWS-1252"),
        (TEXT.replace("'", "\u2019"), "cp1252", "WINDOWS-1252"),
    ],
)
@pytest.mark.parametrize("name", ["a b.fr", "a.fr.gz"])
def test_the_command_converts_the_file(
    tmp_path: Path, text: str, encoding: str, named: str, name: str
) -> None:
    path = tmp_path / name
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    (tmp_path / "a.en").write_text("x\n" * 6)
    with pytest.raises(DataError) as raised:
        list(read_pairs([tmp_path / "a.en", path]))
    sentence = str(raised.value)
    command = sentence.partition("convert it with: ")[2]
    assert f"iconv -f {named} -t UTF-8" in command
    assert "\n" not in sentence
    if shutil.which("iconv") is None:
        pytest.skip("there is no iconv here to try the command with")
    subprocess.run(command, shell=True, check=True)
    made = tmp_path / ("a.utf8.fr" if name.endswith(".gz") else "a b.utf8.fr")
    found = list(read_pairs([tmp_path / "a.en", made]))
    assert [pair.target for pair in found] == text.splitlines()


def test_a_mixture_is_not_called_an_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.fr"
    path.write_bytes("déjà\n".encode() + "déjà\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"a\.fr:2: not valid UTF-8 .*; save the file as UTF-8$"):
        list(read_documents([path]))
