"""Pairs from translation memories, spreadsheets and archives of text files."""

import gzip
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.checks.kinds import recognise
from regard.data.corpus import corpora, languages_in_header, read_pairs
from regard.errors import DataError
from tests.data.pair_sources import LINKS, WORKBOOK, tmx, unit, write_sheet, write_zip

TWO = f"{unit(en='Hello', de='Hallo')}\n{unit(en='A house', de='Ein Haus')}"


def rows(*paths: Path, languages: tuple[str, str] | None = None) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs(paths, languages)]


def test_a_memory_gives_its_pairs_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(tmx(TWO))
    found = list(read_pairs([path]))
    assert [(p.source, p.target) for p in found] == [("Hello", "Hallo"), ("A house", "Ein Haus")]
    assert [p.place for p in found] == [f"{path}:5", f"{path}:6"]
    path.write_text(tmx(TWO.replace("\n", "")))
    assert [p.place for p in read_pairs([path])] == [f"{path}:5", f"{path}:5, unit 2"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_memory_may_be_in_any_encoding_that_it_names(tmp_path: Path, encoding: str) -> None:
    named = "utf-8" if encoding == "utf-8-sig" else encoding
    path = tmp_path / "m.tmx.gz"
    text = tmx(unit(en="a cafe", fr="un café")).replace("UTF-8", named)
    path.write_bytes(gzip.compress(text.encode(encoding)))
    assert rows(path) == [("a cafe", "un café")]


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ("a <bpt i='1'>&lt;b></bpt>bold<ept i='1'>&lt;/b></ept>ly b", "a boldly b"),
        ("one<ph x='1'>&lt;br/></ph>two", "one two"),
        ("one <ph><sub>title</sub></ph>two <it pos='begin'>x</it>", "one two"),
        ("<hi type='b'>kept</hi>, too<ut>{\\f1}</ut>.", "kept, too."),
        ("a\n\tb &amp; c &#xE9;", "a  b & c é"),
    ],
)
def test_tags_inside_a_segment_leave_plain_text(tmp_path: Path, segment: str, text: str) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(tmx(unit(en=segment, de="x")), "utf-8")
    assert rows(path) == [(text, "x")]


def test_the_languages_of_a_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(tmx(unit(de_DE="Hallo", en_US="Hello") + unit(en_GB="Hi", de="Hi"), "en-US"))
    assert languages_in_header([path]) == ("en-US", "de-DE")
    assert rows(path) == [("Hello", "Hallo"), ("Hi", "Hi")]
    assert rows(path, languages=("de", "en")) == [("Hallo", "Hello"), ("Hi", "Hi")]
    several = tmx("\n".join([unit(en="a", de="b", fr="c"), unit(en="d", fr="e"), unit(en="f")]))
    path.write_text(several.replace("xml:lang", "lang"))
    assert rows(path, languages=("fr", "en")) == [("c", "a"), ("e", "d")]
    with pytest.raises(DataError, match="languages are en, de, fr; name two of them with --lang"):
        rows(path)
    with pytest.raises(DataError, match="no unit has both en and it; its languages are en, de, fr"):
        rows(path, languages=("en", "it"))
    path.write_text(tmx(unit(pt_BR="ônibus", pt_PT="autocarro")))
    assert rows(path, languages=("pt-PT", "pt-BR")) == [("autocarro", "ônibus")]


def test_the_plain_doctype_of_tmx_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(tmx(unit(en="a&nbsp;b", de="c"), doctype='<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'))
    assert rows(path) == [("a\xa0b", "c")]


BOMB = '<!DOCTYPE tmx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (tmx(unit(en="&b;", de="x"), doctype=BOMB), r"m\.tmx:2: a DOCTYPE tmx with declarations"),
        (tmx(TWO, doctype='<!DOCTYPE html SYSTEM "x">'), "a DOCTYPE html, which such a file"),
        (tmx(TWO)[:-60], r"m\.tmx:\d+: not valid XML .* cut off; make or fetch it again"),
        (tmx("<tu>" * 200), "tags within tags, more than 100 deep"),
        (tmx(TWO).replace("UTF-8", "x-no"), "encoding"),
        (tmx(unit(en="&#xD800;", de="x")), r"m\.tmx:5: not valid XML"),
        ("<html><body/></html>", "no pairs|no segment|no <tmx>"),
        (tmx(unit(en="a")), "its only language is en; export it with its translations"),
        (tmx("<tu/>"), "no segment has both a language and a text"),
        ("no XML at all", r"m\.tmx:1: not valid XML"),
        ("", "the file is empty"),
    ],
)
def test_what_is_wrong_with_a_memory_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=said) as raised:
        rows(path)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_an_endless_tag_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(tmx("<tu note='" + "x" * 40_000_000 + "'/>"))
    with pytest.raises(DataError, match="does not end within 16 MB"):
        rows(path)


def test_a_long_memory_is_read_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(tmx("\n".join([unit(en="a house " * 20, de="ein Haus " * 20)] * 20_000)))
    tracemalloc.start()
    count = sum(1 for _ in read_pairs([path]))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000
    assert most < 3_000_000


def test_a_spreadsheet_is_a_table(tmp_path: Path) -> None:
    sentences = {n: (str(n), f"A house {n}", f"Ein Haus {n}") for n in range(3, 40)}
    path = write_sheet(tmp_path / "t.xlsx", {1: ("id", "English", "German"), **sentences})
    pairs = list(read_pairs([path]))
    assert (pairs[0].source, pairs[0].target) == ("A house 3", "Ein Haus 3")
    assert pairs[0].place == f"{path}:3"
    assert languages_in_header([path]) == ("en", "de")
    (corpus,) = corpora([path], ("de", "en"))
    assert next(corpus.read()).source == "Ein Haus 3"
    assert corpus.remark().endswith('sheet "terms", the first of 2')
    assert recognise([path]).flag == "pairs"


def test_cells_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/workbook.xml", WORKBOOK)
        file.writestr("xl/_rels/workbook.xml.rels", LINKS)
        file.writestr("xl/worksheets/sheet1.xml", "<worksheet/>")
        file.writestr(
            "xl/worksheets/sheet2.xml",
            "<worksheet><sheetData><row><c t='inlineStr'><is><r><t>in </t></r><r><t>line</t></r>"
            "<rPh><t>spoken</t></rPh></is></c><c t='str'><f>A1</f><v>a_x000D_b</v></c></row>"
            "<row/><row><c><v>12.5</v></c><c t='e'><v>#REF!</v></c></row></sheetData></worksheet>",
        )
    assert rows(path) == [("in line", "a\rb"), ("12.5", "")]


def bad_sheets(folder: Path) -> Iterator[tuple[Path, str]]:
    good = write_sheet(folder / "good.xlsx", {1: ("a", "b")}).read_bytes()
    (folder / "cut.xlsx").write_bytes(good[: len(good) // 2])
    yield folder / "cut.xlsx", "damaged zip"
    (folder / "old.xlsx").write_bytes(b"\xd0\xcf\x11\xe0" * 20)
    yield folder / "old.xlsx", "damaged zip"
    yield write_zip(folder / "doc.xlsx", {"word/document.xml": "<a/>"}), "no xl/workbook.xml in it"
    yield write_sheet(folder / "one.xlsx", {n: (f"a {n}",) for n in range(1, 9)}), "only one column"
    bomb = {"xl/workbook.xml": f"<workbook>{' ' * 30_000_000}</workbook>"}
    yield write_zip(folder / "bomb.xlsx", bomb), "unpacks to more than 100 times its size"
    entity = {"xl/workbook.xml": '<!DOCTYPE w [<!ENTITY a "x">]><w/>'}
    entity["xl/_rels/workbook.xml.rels"] = LINKS
    yield write_zip(folder / "entity.xlsx", entity), "a DOCTYPE w with declarations"
    outside = {"xl/workbook.xml": WORKBOOK, "xl/_rels/workbook.xml.rels": LINKS}
    outside["xl/_rels/workbook.xml.rels"] = LINKS.replace("worksheets", "../../../etc")
    yield write_zip(folder / "outside.xlsx", outside), "no sheet in it can be found"


def test_what_is_wrong_with_a_spreadsheet_is_one_sentence(tmp_path: Path) -> None:
    for path, said in bad_sheets(tmp_path):
        with pytest.raises(DataError, match=said) as raised:
            rows(path)
        assert str(raised.value).startswith(str(path))
        assert "\n" not in str(raised.value)


def test_an_archive_gives_the_lines_of_its_files(tmp_path: Path) -> None:
    files = {
        "README": "x",
        "LICENSE": "y",
        "Books.de-en.de": "Hallo\nHaus\n",
        "Books.de-en.en": "Hello\nhouse\n",
        "Books.de-en.ids": "1\n2\n",
        "more/News.de-en.en": "day\n",
        "more/News.de-en.de": "Tag\n",
    }
    path = write_zip(tmp_path / "de-en.txt.zip", files)
    assert languages_in_header([path]) == ("de", "en")
    assert rows(path) == [("Hallo", "Hello"), ("Haus", "house"), ("Tag", "day")]
    pairs = list(read_pairs([path], ("en", "de")))
    assert pairs[1].source == "house"
    assert pairs[1].place == f"{path}/Books.de-en.en:2"
    assert recognise([path]).flag == "pairs"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.en": "x\ny\n", "a.de": "z\n"}, r"/a\.en: 2 lines, but .*/a\.de has 1"),
        ({"a.en": "x\n", "b.de": "z\n"}, "no two files in it are named after languages"),
        ({"a.en": "x\n", "a.de": "z\n", "a.fr": "y\n"}, "its languages are de, en, fr; name two"),
        ({"a.en": "x" * 20_000_000, "a.de": "z\n"}, "unpacks to more than 100 times its size"),
        ({"../../a\x1b.en": "x\ny\n", "/etc/a\x1b.de": "z\n"}, r"/a\?\.en: 2 lines"),
    ],
)
def test_what_is_wrong_with_an_archive_is_one_sentence(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    path = write_zip(tmp_path / "a.zip", files)
    with pytest.raises(DataError, match=said) as raised:
        rows(path)
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == [path]  # nothing is unpacked


def test_bytes_of_an_archive_that_are_no_text_have_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.en", b"x\ny\n")
        file.writestr("a.de", b"z\n\xff\n")
    with pytest.raises(DataError, match=r"a\.zip/a\.de:2: not valid UTF-8 \(byte 0xff at column 1"):
        rows(path)
    content = bytearray(path.read_bytes())
    content[content.index(b"x\ny\n")] = ord("q")
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.zip: damaged zip .*Bad CRC-32"):
        rows(path)
