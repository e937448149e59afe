from pathlib import Path

import pytest

from regard.data.glossary_files import read_glossary
from regard.errors import DataError
from regard.text.glossary import Glossary
from tests.data.pair_sources import write_sheet


def read(folder: Path, name: str, content: str | bytes) -> Glossary:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_glossary(path, "en", "de")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "dog\tHund\nPIN\tPIN\n"),
        ("a.txt", "dog\tHund\r\nPIN\r\n"),
        ("a.tsv", "\ufeffen\tde\tnote\ndog\tHund\tanimal\n\nPIN\t\t\n"),
        ("a.tsv", "German\tEnglish\nHund\tdog\nPIN\tPIN\n"),
        ("a.tsv", '"dog"\t"Hund"\nPIN'),
        ("a.csv", "source,target\ndog,Hund\nPIN,\n"),
        ("a.csv", "dog;Hund\nPIN;PIN\n"),
        ("a.csv", '"dog","Hund"\nPIN,PIN\n'),
    ],
)
def test_glossaries_are_read_as_people_write_them(tmp_path: Path, name: str, content: str) -> None:
    assert read(tmp_path, name, content).entries == {"dog": "Hund", "PIN": "PIN"}


@pytest.mark.parametrize("content", ["", "\n \n", "en\tde\n"])
def test_a_glossary_without_terms_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match=r"a\.tsv: holds no terms; write a term"):
        read(tmp_path, "a.tsv", content)


def test_a_glossary_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("dog\tHund\n")
    with pytest.raises(DataError, match=r"no such file; did you mean terms\.tsv\?"):
        read_glossary(tmp_path / "term.tsv", "en", "de")


def test_quotes_and_delimiters_are_read_within_cells(tmp_path: Path) -> None:
    found = read(tmp_path, "a.csv", '"a ""b"", c",d\n').entries
    assert found == {'a "b", c': "d"}
    found = read(tmp_path, "a.tsv", '12" screen\t12"-Bildschirm\n"x\ty\n').entries
    assert found == {'12" screen': '12"-Bildschirm', '"x': "y"}


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.tsv", b"dog\tK\xf6ter\n", "a.tsv: not valid UTF-8 (byte 6); save the file as UTF-8"),
        (
            "a.tmx",
            "dog\tHund\n",
            "a.tmx: not a glossary by its name; give a .tsv, .csv, .txt, .xlsx",
        ),
        ("a.csv", 'a,b\n"c,d\n', "a.csv:2: a quote that is not closed"),
        ("a.tsv", "en\tfr\na\tb\n", "its columns are en and fr, but the run translates en to de"),
        ("a.tsv", f"{'a' * 501}\tb\n", "a.tsv:1: a term of more than 500 characters"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(
    tmp_path: Path, name: str, content: str | bytes, sentence: str
) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path, name, content)
    assert sentence in str(error.value)


def test_a_file_that_is_not_there_and_too_many_terms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="there is no such file; check the path"):
        read_glossary(tmp_path / "none.tsv")
    monkeypatch.setattr("regard.data.glossary_files.MOST_ENTRIES", 2)
    with pytest.raises(DataError, match="more than 2 terms"):
        read(tmp_path, "a.tsv", "a\tb\n" * 4)


def test_a_spreadsheet_is_a_glossary(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_sheet(path, {1: ["English", "German"], 2: ["dog", "Hund"], 4: ["PIN"]})
    assert read_glossary(path, "en", "de").entries == {"dog": "Hund", "PIN": "PIN"}
