"""Tables as spreadsheets, pandas and people write them."""

import bz2
import csv
import gzip
import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data import samples
from regard.data.columns import text_layout
from regard.data.corpus import read_pairs
from regard.data.labelled import read_texts
from regard.data.lines import LONGEST_LINE_BYTES
from regard.data.pair_columns import pair_layout
from regard.data.texts import read_documents
from regard.errors import DataError

ROWS = [
    ("Hello, you.", "Bonjour, toi."),
    ('She said "yes".', "Elle a dit « oui »."),
    ("Two\nlines.", "Deux\nlignes."),
    ("A\ttab; a semicolon.", "Une tabulation; un point-virgule."),
    ("", "Rien."),
]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    if name.endswith(".gz"):
        data = gzip.compress(data)
    if name.endswith(".bz2"):
        data = bz2.compress(data)
    path.write_bytes(data)
    return path


def table(
    rows: Sequence[Sequence[str]], delimiter: str = ",", quoting: int = csv.QUOTE_MINIMAL
) -> str:
    """Rows as Excel writes them."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator="\r\n").writerows(rows)
    return file.getvalue()


def pairs(path: Path) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs([path])]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "T.CSV", "t.csv.bz2"])
def test_what_a_spreadsheet_writes_is_read(
    tmp_path: Path, delimiter: str, quoting: int, name: str
) -> None:
    path = write(tmp_path, name, "\ufeff" + table(ROWS, delimiter, quoting))
    assert pairs(path) == ROWS
    assert [pair.place for pair in read_pairs([path])] == [
        f"{path}:{line}" for line in (1, 2, 3, 6, 7)
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    rows=st.lists(
        st.tuples(*[st.text(st.sampled_from('ab",;\t\n '), max_size=8).map("x{}y".format)] * 2),
        min_size=2,
        max_size=6,
    ),
    delimiter=st.sampled_from(",;"),
)
def test_any_cells_come_back(tmp_path: Path, rows: list[tuple[str, str]], delimiter: str) -> None:
    other = {",": ";", ";": ","}[delimiter]
    rows = [(a.replace(other, ""), b.replace(other, "")) for a, b in rows]
    path = write(tmp_path, "t.csv", f"sep={delimiter}\r\n" + table(rows, delimiter))
    assert pairs(path) == rows


def test_the_separator_line_of_excel_is_no_row(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "sep=;\r\n" + table([("source", "target"), *ROWS], ";"))
    assert pairs(path) == ROWS
    assert next(iter(read_pairs([path]))).place == f"{path}:3"


def test_semicolons_are_told_from_the_commas_of_sentences(tmp_path: Path) -> None:
    rows = [(f"One, {n}, two.", f"Eins, {n}, zwei, drei.") for n in range(30)]
    assert pairs(write(tmp_path, "t.csv", table(rows, ";"))) == rows
    rows = [(f"One; {n}, two.", f"Eins; {n}, zwei.") for n in range(30)]
    assert pairs(write(tmp_path, "t.csv", table(rows, ","))) == rows


LITERAL = [
    ('"Yes," she said.', "« Oui », dit-elle."),
    ('"Hello."', '"Bonjour."'),
    ('He said "no".', 'Il a dit "non".'),
    ("Plain.", "Simple."),
]


@pytest.mark.parametrize("rows", [LITERAL, LITERAL[1:2] + LITERAL[3:], LITERAL[2:]])
def test_quotation_marks_in_sentences_stay(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    path = write(tmp_path, "t.tsv", "".join("\t".join(row) + "\n" for row in rows * 20))
    assert pairs(path) == rows * 20
    assert not pair_layout(path).quoted
    assert pair_layout(path).remark(path) == ""


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_a_tsv_with_cells_in_quotes_is_read_as_such_and_said(tmp_path: Path, quoting: int) -> None:
    path = write(tmp_path, "t.tsv", table(ROWS * 10, "\t", quoting))
    assert pairs(path) == ROWS * 10
    assert "cells in quotes as spreadsheets write them" in pair_layout(path).remark(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('a,b\n"c"d,e\nf,g\n', r"t\.csv:2: text follows a closing quote; write a quote inside"),
        ('a,b\n"c,d\ne,f\ng,h\n', r"t\.csv:2: a cell begins with a quote that is not closed"),
        ('a,b\nc,d\n"e\nf"g,h\n', r"t\.csv:3: a cell begins with a quote that is not closed"),
        ("a,b\nc,d,e\nf,g\n", r't\.csv:2: 3 columns, the first line has 2; put cells that .* ","'),
        ("a,b\nc\nd,e\n", r"t\.csv:2: 1 column, but column 2 is read"),
        ("a\nb\n", r"t\.csv:1: only one column; write two, with a comma"),
        ("a,b\rc,d\re,f\r", r"t\.csv: no line feed ends a line"),
        ("a,b\nc,d\re,f\n", r"t\.csv:2: a lone carriage return"),
    ],
)
def test_what_is_wrong_with_a_csv_is_one_sentence(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(DataError, match=said) as raised:
        pairs(write(tmp_path, "t.csv", content))
    assert "\n" not in str(raised.value)


def test_empty_cells_beside_the_table_are_no_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "a,b\nc,d,,\n\n,\ne,f\n")
    assert pairs(path) == [("a", "b"), ("c", "d"), ("", ""), ("", ""), ("e", "f")]


def test_a_long_cell_is_no_error(tmp_path: Path) -> None:
    text = "long, " * 50_000
    assert pairs(write(tmp_path, "t.csv", table([(text, "x"), ("y", text)]))) == [
        (text, "x"),
        ("y", text),
    ]
    assert csv.field_size_limit() == LONGEST_LINE_BYTES


def test_a_table_that_changes_is_looked_at_again(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "a;b\n")
    assert pairs(path) == [("a", "b")]
    assert pairs(write(tmp_path, "t.csv", "a,b\n")) == [("a", "b")]
    assert samples.sampled(path) is samples.sampled(path)


def test_a_sample_that_ends_inside_a_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "SAMPLE_LINES", 3)
    assert pairs(write(tmp_path, "t.csv", table(ROWS, ";"))) == ROWS


def test_texts_of_a_csv(tmp_path: Path) -> None:
    rows = [("id", "Text", "date"), ("1", "One, two.\nThree.", "2020-01-01"), ("2", "Four.", "x")]
    path = write(tmp_path, "t.csv", table(rows))
    assert list(read_documents([path])) == ["One, two.\n", "Three.\n", None, "Four.\n", None]
    assert text_layout(path).remark(path) == (
        f'{path}: text is column 2 "Text" of 3 (by its name in the first line)'
    )
    assert list(read_documents([path], "DATE"))[:2] == ["2020-01-01\n", None]
    assert list(read_documents([path], 1))[:2] == ["1\n", None]


def test_texts_and_labels_of_a_csv(tmp_path: Path) -> None:
    rows = [("Category", "Review"), ("good", "Fine, really."), ("bad", 'A "film".')]
    path = write(tmp_path, "t.csv", table(rows, ";"))
    assert [(each.units[0], each.labels[0]) for each in read_texts([path])] == [
        ("Fine, really.", "good"),
        ('A "film".', "bad"),
    ]
