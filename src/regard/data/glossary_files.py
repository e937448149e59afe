"""Reads glossaries: a table with a term and its translation in each line."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from regard.data.lines import check_place, kind_of
from regard.data.spreadsheets import SPREADSHEETS, sheet_rows
from regard.errors import DataError
from regard.small_files import read_small
from regard.text.documents.columns import choose
from regard.text.documents.document import Wish
from regard.text.glossary import Glossary, glossary_of, units_of
from regard.text.languages import NAMES, base_code

KINDS = (".tsv", ".csv", ".txt", *SPREADSHEETS)
LARGEST = 16 << 20
MOST_ENTRIES = 100_000
LONGEST_TERM, MOST_WORDS = 500, 40

Row = tuple[list[str], str]  # its cells and its place


def read_glossary(path: Path, source: str = "", target: str = "") -> Glossary:
    """The glossary in a .tsv, .csv, .txt or .xlsx, for a translation between two languages. The
    first line may name the languages of the columns. A term without a translation stays as it is.
    """
    if path.suffix.lower() not in KINDS:
        raise DataError(f"{path}: not a glossary by its name; give a {', '.join(KINDS)}")
    check_place(path)
    if kind_of(path) in SPREADSHEETS:
        rows: Iterable[Row] = ((cells, f"{path}:{line}") for cells, line in sheet_rows(path))
    else:
        try:
            text = read_small(path, LARGEST, links=True).decode("utf-8-sig")
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from None
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}: not valid UTF-8 (byte {error.start + 1}); save the file as UTF-8"
            ) from None
        rows = rows_of(text, delimiter_of(path, text), str(path))
    found = glossary_of(entries(rows, str(path), source, target))
    if not found:
        raise DataError(f"{path}: holds no terms; write a term and its translation in each line")
    return found


def delimiter_of(path: Path, text: str) -> str:
    """What is between the columns: of a .csv, what its first line has most."""
    first = text.lstrip("\n").partition("\n")[0]
    return max(",;\t", key=first.count) if kind_of(path) == ".csv" else "\t"


def rows_of(text: str, delimiter: str, name: str) -> Iterator[Row]:
    """The rows that are not empty."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip():
            continue
        place = f"{name}:{number}"
        try:
            yield next(csv.reader([line], delimiter=delimiter, strict=True)), place
        except csv.Error:
            if delimiter != "\t":
                raise DataError(
                    f"{place}: a quote that is not closed where its cell ends; close it, and write "
                    'a quote inside a cell twice ("")'
                ) from None
            yield line.split("\t"), place


def entries(rows: Iterable[Row], name: str, source: str, target: str) -> Iterator[tuple[str, str]]:
    """The term and the translation of each row below the header, if there is one."""
    columns = 0, 1
    for number, (cells, place) in enumerate(rows):
        if not number:
            named = choose(name, cells, Wish(source, target))
            if named is not None:
                columns = named.source, named.target
                continue
            check_header(cells, name, source, target)
        if number > MOST_ENTRIES:
            raise DataError(f"{name}: more than {MOST_ENTRIES:,} terms; split the glossary")
        term, translation = (cells[at] if at < len(cells) else "" for at in columns)
        if max(len(term), len(translation)) > LONGEST_TERM or len(units_of(term)) > MOST_WORDS:
            raise DataError(
                f"{place}: a term of more than {LONGEST_TERM} characters or {MOST_WORDS} words; "
                "sentences belong into a translation memory"
            )
        yield term, translation


def check_header(cells: Sequence[str], name: str, source: str, target: str) -> None:
    """Refuse a glossary whose first line names other languages."""
    codes = [base_code(cell.strip()) for cell in cells[:2]]
    if source and len(codes) == 2 and all(len(code) == 2 and code in NAMES for code in codes):
        raise DataError(
            f"{name}: its columns are {' and '.join(cells[:2])}, but the run translates {source} "
            f"to {target}; give a glossary of these languages"
        )
