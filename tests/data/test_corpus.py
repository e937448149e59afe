import gzip
import json
import os
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data import lines
from regard.data.corpus import Pair, held_out, read_pairs
from regard.data.pair_files import check_files, language_codes
from regard.data.pair_filter import Dropped, FilterReport, PairFilter
from regard.errors import DataError

Writer = Callable[[str, bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    def write_file(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write_file


def read(*paths: Path) -> list[Pair]:
    return list(read_pairs(paths))


def texts(pairs: Sequence[Pair]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs]


def test_a_pair_knows_its_place(write: Writer) -> None:
    source, target = write("train.en", b"one\ntwo\n"), write("train.de", b"eins\nzwei\n")
    assert read(source, target) == [
        Pair("one", "eins", f"{source}:1"),
        Pair("two", "zwei", f"{source}:2"),
    ]


ODD_LINES = [
    ("BOM", b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
    ("CRLF", b"a\r\nb\r\n", ["a", "b"]),
    ("lone CR", b"a\rb\nc\n", ["a\rb", "c"]),
    ("NUL", b"a\0b\nc\n", ["a\0b", "c"]),
    ("U+2028", "a\u2028b\nc\n".encode(), ["a\u2028b", "c"]),
    ("U+0085, VT, FF", "a\x85b\x0bc\nd\x0ce\n".encode(), ["a\x85b\x0bc", "d\x0ce"]),
    ("right-to-left mark", "a\u200fb\nc\n".encode(), ["a\u200fb", "c"]),
    ("no last line end", b"a\nb", ["a", "b"]),
    ("no last line end, CR", b"a\r\nb\r", ["a", "b"]),
    ("empty lines", b"\n\n", ["", ""]),
    ("one-sided empty line", b"a\n\n", ["a", ""]),
    ("BOM before an empty line", b"\xef\xbb\xbf\nb\n", ["", "b"]),
    ("BOM inside", b"a\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
    ("1 MB line", b"x" * 1_000_000 + b"\nb\n", ["x" * 1_000_000, "b"]),
]


@pytest.mark.parametrize(("content", "expected"), [case[1:] for case in ODD_LINES],
                         ids=[case[0] for case in ODD_LINES])  # fmt: skip
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_odd_lines_never_shift_the_pairs(
    write: Writer, content: bytes, expected: list[str], ending: str
) -> None:
    source, target = write(f"train.en{ending}", content), write("train.de", b"1\n2")
    assert texts(read(source, target)) == list(zip(expected, ["1", "2"], strict=True))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    lines=st.lists(st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"])),
                   min_size=1, max_size=8),
    line_end=st.sampled_from(["\n", "\r\n"]),
    zipped=st.booleans(),
)  # fmt: skip
def test_pair_i_stays_pair_i(write: Writer, lines: list[str], line_end: str, zipped: bool) -> None:
    content = "\ufeff" + "".join(line + line_end for line in lines)
    source = write("a.en.gz" if zipped else "a.en", content.encode())
    target = write("a.de", "".join(f"{number}\n" for number in range(len(lines))).encode())
    numbers = [str(number) for number in range(len(lines))]
    assert texts(read(source, target)) == list(zip(lines, numbers, strict=True))


BAD_BYTES = [
    (b"\xff", "0xff"),
    (b"\xc0\xaf", "0xc0"),  # overlong
    (b"\xed\xa0\x80", "0xed"),  # surrogate
    (b"\xe2\x82", "0xe2"),  # truncated
    (b"\xf5\x80\x80\x80", "0xf5"),  # beyond the last character
]


@pytest.mark.parametrize(("bad", "named"), BAD_BYTES)
@pytest.mark.parametrize("name", ["train.de", "train.de.gz"])
def test_invalid_utf8_is_placed(write: Writer, bad: bytes, named: str, name: str) -> None:
    source = write("train.en", b"one\ntwo\n")
    target = write(name, b"eins\n" + "zwölf".encode() + bad + b"\n")
    expected = rf"{name}:2: not valid UTF-8 \(byte {named} at column 6\); save the file as UTF-8"
    with pytest.raises(DataError, match=expected):
        read(source, target)


@pytest.mark.parametrize(("sources", "targets"), [(3, 2), (2, 3), (1, 5000), (5000, 1)])
def test_different_line_counts_are_both_named(write: Writer, sources: int, targets: int) -> None:
    source, target = write("t.en", b"a\n" * sources), write("t.de.gz", b"b\n" * targets)
    with pytest.raises(DataError, match=rf"t.de.gz: {targets} lines, but .*t.en has {sources};"):
        read(source, target)


def test_an_iterator_stops_before_it_reads_what_is_wrong(write: Writer) -> None:
    pairs = read_pairs([write("t.en", b"a\n\xff\n"), write("t.de", b"b\n")])
    assert next(pairs).source == "a"


def test_files_that_cannot_be_read(write: Writer, tmp_path: Path) -> None:
    good, empty = write("train.en", b"a\n"), write("train.de", b"")
    with pytest.raises(DataError, match=r"train.de: the file is empty;"):
        check_files([good, empty])
    with pytest.raises(DataError, match=r"empty.gz: the file is empty;"):
        read(good, write("empty.gz", b""))
    with pytest.raises(DataError, match=r"bom.de: the file is empty;"):
        read(good, write("bom.de", b"\xef\xbb\xbf"))
    for name, wanted in (("a.tsv.gz", "tabs"), ("a.conllu", "one word"), ("a.jsonl", "one object")):
        with pytest.raises(DataError, match=rf"{name}: the file is empty; give .*{wanted}"):
            list(lines.lines(write(name, b"")))
    with pytest.raises(DataError, match=r"this is a folder; give the file"):
        check_files([good, tmp_path])
    with pytest.raises(DataError, match=r"train.fr: there is no such file; did you mean train\."):
        check_files([good, tmp_path / "train.fr"])
    with pytest.raises(DataError, match=r"no such file, nor a folder .*nowhere; check the path"):
        check_files([good, tmp_path / "nowhere" / "train.fr"])


def test_files_that_do_not_fit(write: Writer, tmp_path: Path) -> None:
    plain, table = write("train.en", b"a\n"), write("train.tsv", b"a\tb\n")
    link = tmp_path / "link.de"
    link.symlink_to(plain)
    for again in (plain, link):
        with pytest.raises(DataError, match="the same file is given for source and target"):
            check_files([plain, again])
    with pytest.raises(DataError, match=r"train.en: one file of plain text holds no pairs"):
        check_files([plain])
    with pytest.raises(DataError, match=r"train.en: one file of plain text holds no pairs"):
        check_files([plain, table])
    with pytest.raises(DataError, match="0 data files are given"):
        check_files([])


def test_no_permission(write: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = write("t.en", b"a\n"), write("t.de", b"b\n")
    pairs = read_pairs([source, target])

    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"t.en: cannot be read \(Permission denied\); check"):
        list(pairs)
    monkeypatch.setattr(os, "access", lambda path, mode: path != target)
    with pytest.raises(DataError, match=r"t.de: no permission to read; change it with chmod"):
        check_files([source, target])


@pytest.mark.parametrize("cut", [3, 15, -6])
def test_damaged_gzip_is_placed(write: Writer, cut: int) -> None:
    path = write("t.en.gz", b"".join(b"%d\n" % number for number in range(1000)))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(DataError, match=r"t.en.gz:\d+: damaged gzip"):
        read(path, write("t.de", b"b\n" * 1000))


def test_gzip_that_is_none(write: Writer, tmp_path: Path) -> None:
    (tmp_path / "t.en.gz").write_bytes(b"plain text\n")
    with pytest.raises(DataError, match=r"t.en.gz:1: damaged gzip \(Not a gzipped file"):
        read(tmp_path / "t.en.gz", write("t.de", b"b\n"))
    flipped = bytearray(gzip.compress(b"a\n" * 1000))
    flipped[12] ^= 0xFF
    (tmp_path / "t.en.gz").write_bytes(flipped)
    with pytest.raises(DataError, match=r"t.en.gz:\d+: damaged gzip"):
        read(tmp_path / "t.en.gz", write("t.de", b"b\n" * 1000))


def test_endless_lines_and_gzip_bombs(write: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE_BYTES", 1000)
    monkeypatch.setattr(lines, "SMALLEST_SUSPECT_BYTES", 10_000)
    target = write("t.de", b"b\n" * 200_000)
    with pytest.raises(DataError, match=r"t.en.gz:2: the line is longer than 1000 bytes"):
        read(write("t.en.gz", b"a\n" + b"x" * 1_000_000), target)
    with pytest.raises(DataError, match=r"b.en.gz:\d+: the file unpacks to more than 100 times"):
        read(write("b.en.gz", b"a\n" * 200_000), target)
    assert len(read(write("b.en", b"a\n" * 200_000), target)) == 200_000


def test_memory_does_not_grow_with_the_file(write: Writer) -> None:
    content = b"".join(b"sentence number %d of a long file\n" % number for number in range(50_000))
    source, target = write("t.en", content), write("t.de", content)
    tracemalloc.start()
    count = sum(1 for _ in read_pairs([source, target]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 50_000
    assert peak < len(content) / 4


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_columns(write: Writer, ending: str) -> None:
    path = write(f"t.tsv{ending}", "one\teins\nzwei \u2028\t\n\n a\tb\tc\td\r\n".encode())
    expected = [("one", "eins"), ("zwei \u2028", ""), ("", ""), (" a", "b")]
    assert texts(read(path)) == expected
    assert read(path)[3].place == f"{path}:4"
    with pytest.raises(DataError, match=r"bad.tsv:2: no tab, so only one column"):
        read(write("bad.tsv", b"one\teins\ntwo\n"))


@pytest.mark.parametrize(
    "entry",
    [
        {"source": "one", "target": "eins", "id": 7},
        {"en": "one", "de": "eins"},
        {"id": 7, "translation": {"de": "eins", "en": "one"}},
        {"translation": {"source": "one", "target": "eins"}},
    ],
)
def test_objects(write: Writer, entry: dict[str, object]) -> None:
    path = write("t.jsonl.gz", (json.dumps(entry) + "\n\n").encode())
    assert texts(list(read_pairs([path], ("en", "de")))) == [("one", "eins"), ("", "")]
    named = write("t.en-de.jsonl", json.dumps(entry).encode())
    assert texts(read(named)) == [("one", "eins")]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not valid JSON; write one object"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", 'no "source" and "target" in the object; rename the keys, or name the languages'),
        ('{"en": "one", "de": "eins"}', 'no "source" and "target"'),
        ('{"source": "one"}', 'no "source" and "target"'),
        ('{"source": "one", "target": null}', 'must both be text'),
        ('{"source": ["one"], "target": "eins"}', 'must both be text'),
    ],
)  # fmt: skip
def test_objects_that_are_no_pairs(write: Writer, line: str, complaint: str) -> None:
    good = '{"source": "a", "target": "b"}\n'
    path = write("t.jsonl", (good + line + "\n").encode())
    with pytest.raises(DataError, match=rf"t.jsonl:2: .*{complaint}"):
        read(path)


@pytest.mark.parametrize(
    ("names", "codes"),
    [
        (["train.en", "train.de"], ("en", "de")),
        (["train.en.gz", "train.pt-BR.gz"], ("en", "pt-BR")),
        (["dev.eng_Latn", "dev.deu_Latn"], ("eng_Latn", "deu_Latn")),
        (["news_en.txt", "news_fr.txt.gz"], ("en", "fr")),
        (["en.txt", "nds.txt"], ("en", "nds")),
        (["corpus.en-de.tsv"], ("en", "de")),
        (["en-pt_BR.jsonl.gz"], ("en", "pt_BR")),
        (["train.src", "train.tgt"], None),
        (["train.en", "other.en"], None),
        (["source.txt", "target.txt"], None),
        (["train", "train2"], None),
        (["corpus.tsv"], None),
        (["wikipedia-extract.tsv"], None),
    ],
)
def test_language_codes(names: list[str], codes: tuple[str, str] | None) -> None:
    assert language_codes([Path("some.en") / name for name in names]) == codes


def test_the_held_out_share_depends_on_the_sentence_alone() -> None:
    sentences = [f"sentence {number}" for number in range(10_000)]
    chosen = {sentence for sentence in sentences if held_out(sentence, 1, 0.1)}
    assert 800 < len(chosen) < 1200
    assert chosen == {sentence for sentence in reversed(sentences) if held_out(sentence, 1, 0.1)}
    assert chosen != {sentence for sentence in sentences if held_out(sentence, 2, 0.1)}
    assert chosen < {sentence for sentence in sentences if held_out(sentence, 1, 0.2)}
    assert not any(held_out(sentence, 1, 0) for sentence in sentences)
    assert all(held_out(sentence, 1, 1) for sentence in sentences)
    assert held_out("\ud800", 1, 1)


def report_of(lengths: Sequence[tuple[int, int]]) -> FilterReport:
    pair_filter = PairFilter(max_length=100, max_ratio=4.0)
    for number, (source, target) in enumerate(lengths):
        pair_filter.keeps(Pair("", "", f"t.en:{number}"), source, target)
    return pair_filter.report()


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (2, 2, None),
        (100, 100, None),
        (3, 22, None),
        (90, 20, None),
        (1, 5, "empty source"),
        (5, 1, "empty target"),
        (1, 1, "empty source"),
        (101, 90, "too long"),
        (90, 101, "too long"),
        (3, 23, "length ratio"),
        (60, 12, "length ratio"),
    ],
)
def test_what_the_filter_drops(source: int, target: int, reason: str | None) -> None:
    report = report_of([(source, target)])
    assert [entry.reason for entry in report.dropped] == ([reason] if reason else [])
    assert report.kept == (0 if reason else 1)


def test_the_report_counts_and_names_the_first_places() -> None:
    report = report_of([(5, 5)] * 10 + [(5, 1)] * 4 + [(200, 5)])
    places = ("t.en:10", "t.en:11", "t.en:12")
    assert report == FilterReport(
        15, 10, (Dropped("empty target", 4, places), Dropped("too long", 1, ("t.en:14",)))
    )
    assert report.lines() == [
        "10 of 15 pairs kept",
        "dropped: 4 empty target (t.en:10, t.en:11, t.en:12, …)",
        "dropped: 1 too long (t.en:14)",
    ]
    report.check()


def test_dropping_more_than_a_third_stops() -> None:
    with pytest.raises(DataError, match=r"^6 of 16 pairs would be dropped, .* 6 empty target \("):
        report_of([(5, 5)] * 10 + [(5, 1)] * 6).check()
    with pytest.raises(DataError, match="no pairs to learn from"):
        report_of([]).check()
