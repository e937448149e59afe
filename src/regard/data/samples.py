"""The first rows of a table, which show how it is written.

A .csv has cells in quotes where they need them, as Excel and pandas write them, and commas,
semicolons or tabs between them. A .tsv has lines that are cut at tabs, and quotation marks that
belong to its sentences, unless its first lines are only right with cells in quotes.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from statistics import fmean

from regard.data.lines import LONGEST_LINE_BYTES, kind_of, lines
from regard.data.spreadsheets import SPREADSHEETS, sheet_rows

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# How much of a table is looked at to find out how it is written.
SAMPLE_LINES = 10_000
SAMPLE_CHARACTERS = 4_000_000
# With at least this many rows, the values of a column show what it holds.
ENOUGH_ROWS = 20

_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*$', re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d[\d.,:/_-]*%?")
# One word with a digit in it, or an address: "sent-12", "9e3779b1", "https://example.org/about".
ID = re.compile(r"\S*\d\S*|\w+://\S+")


@dataclass(frozen=True)
class Column:
    """What a column holds, as far as the first rows show it."""

    number: int  # from 0
    values: Sequence[str]  # those that are not empty

    @cached_property
    def counts(self) -> Counter[str]:
        return Counter(self.values)

    @cached_property
    def is_numeric(self) -> bool:
        numbers = sum(_NUMBER.fullmatch(value) is not None for value in self.values)
        return bool(self.values) and numbers >= 0.95 * len(self.values)

    @cached_property
    def is_ids(self) -> bool:
        """Whether it holds ids or addresses, each of them one word, and not only numbers."""
        ids = sum(ID.fullmatch(value) is not None for value in self.values)
        enough = len(self.values) >= ENOUGH_ROWS and ids >= 0.95 * len(self.values)
        return enough and not self.is_numeric

    @property
    def is_constant(self) -> bool:
        return len(self.values) >= ENOUGH_ROWS and len(self.counts) == 1

    @property
    def length(self) -> float:
        """Characters of a cell, on average."""
        return fmean(map(len, self.values)) if self.values else 0.0

    @property
    def spaced(self) -> float:
        """The share of cells that hold several words."""
        return sum(" " in value or "\n" in value for value in self.values) / max(
            1, len(self.values)
        )

    @property
    def has_few_values(self) -> bool:
        """Whether values come again and again, as labels do: two or more of each, on average."""
        return 0 < 2 * len(self.counts) <= len(self.values)

    def examples(self, most: int = 3) -> str:
        """ "good", "bad", …: its commonest values."""
        found = [" ".join(each.split()) for each, _ in self.counts.most_common(most)]
        shown = [f'"{each[:30]}…"' if len(each) > 30 else f'"{each}"' for each in found]
        return ", ".join(shown) + ", …" * (len(self.counts) > len(found))


@dataclass(frozen=True)
class Sample:
    """The first rows of a table, and how it is written."""

    path: Path
    delimiter: str  # "" for a spreadsheet
    quoted: bool
    skipped: int  # lines before the first row: Excel's "sep=;"
    rows: list[list[str]] = field(repr=False)

    @cached_property
    def width(self) -> int:
        return next((len(row) for row in self.rows if any(row)), 1)

    @cached_property
    def first_row(self) -> list[str]:
        return [" ".join(cell.split()) for cell in self.rows[0]] if self.rows else []

    @cached_property
    def names(self) -> list[str]:
        """The cells of the first row, as names of columns are compared."""
        return [cell.lower() for cell in self.first_row]

    def columns(self, header: bool) -> list[Column]:
        cells: list[list[str]] = [[] for _ in range(self.width)]
        for row in self.rows[header:]:
            for column, cell in zip(cells, row, strict=False):
                if cell := cell.strip():
                    column.append(cell)
        return [Column(number, values) for number, values in enumerate(cells)]

    @cached_property
    def may_be_header(self) -> bool:
        """Whether the first row could name columns: short cells, all different."""
        named = [name for name in self.names if name]
        short = all(len(name) <= 40 and len(name.split()) <= 4 for name in named)
        return bool(named) and short and len(set(named)) == len(named)

    def names_column(self, name: str) -> bool:
        """Whether the first row has this name, which is not one of the values below it."""
        if not self.may_be_header or name not in self.names:
            return False
        at = self.names.index(name)
        return not any(name == row[at].strip().lower() for row in self.rows[1:] if at < len(row))

    @cached_property
    def shows_header(self) -> bool:
        """Whether the first row names columns: a word above nothing but numbers."""
        if not self.may_be_header or len(self.rows) < 6:
            return False
        return any(
            column.is_numeric and name and not _NUMBER.fullmatch(name)
            for name, column in zip(self.names, self.columns(header=True), strict=False)
        )


def sampled(path: Path) -> Sample:
    """The first rows of a table. It is looked at again only when the file has changed."""
    try:
        status = path.stat()
    except OSError:
        return _sampled(path, 0, 0)
    return _sampled(path, status.st_mtime_ns, status.st_size)


def sampled_at(path: Path, delimiter: str) -> Sample:
    """The first rows of a table whose columns are known to be cut at a delimiter."""
    first = [line for line, _ in islice(lines(path), SAMPLE_LINES)]
    rows = _parsed(first, delimiter)
    return Sample(
        path,
        delimiter,
        quoted=rows is not None,
        skipped=0,
        rows=[line.split(delimiter) for line in first] if rows is None else rows,
    )


@lru_cache(maxsize=8)
def _sampled(path: Path, changed: int, size: int) -> Sample:
    if kind_of(path) in SPREADSHEETS:
        rows = [cells for cells, _ in islice(sheet_rows(path), SAMPLE_LINES)]
        return Sample(path, "", quoted=False, skipped=0, rows=rows)
    first: list[str] = []
    characters = 0
    for line, _ in islice(lines(path), SAMPLE_LINES):
        first.append(line)
        characters += len(line)
        if characters > SAMPLE_CHARACTERS:
            break
    named = _SEPARATOR_LINE.match(first[0])
    if named and named[1] in DELIMITERS:
        rows = _parsed(first[1:], named[1]) or [line.split(named[1]) for line in first[1:]]
        return Sample(path, named[1], quoted=True, skipped=1, rows=rows)
    if kind_of(path) != ".csv":
        return _tabs(path, first)
    delimiter, rows = _delimiter(first)
    if delimiter == "\t":
        return _tabs(path, first)
    return Sample(path, delimiter, quoted=True, skipped=0, rows=rows)


def _parsed(first: list[str], delimiter: str) -> list[list[str]] | None:
    """The rows of these lines with cells in quotes; None if they are not written like that."""
    csv.field_size_limit(LONGEST_LINE_BYTES)
    reader = csv.reader((f"{line}\n" for line in first), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    try:
        rows.extend(reader)
    except csv.Error as error:
        # The sample may end inside a cell that goes over several lines.
        if "unexpected end" not in str(error) or len(first) < SAMPLE_LINES:
            return None
    return rows


def _delimiter(first: list[str]) -> tuple[str, list[list[str]]]:
    """What cuts the lines of a .csv into the same number of columns most often, and is not followed
    by spaces, as it is in sentences.
    """
    best, found = (0.0, 0.0), (",", _parsed(first, ",") or [line.split(",") for line in first])
    for delimiter in DELIMITERS:
        rows = _parsed(first, delimiter)
        if rows is None and delimiter == "\t":  # quotation marks that belong to the sentences
            rows = [line.split("\t") for line in first]
        widths = Counter(len(row) for row in rows or () if row)
        if rows is None or not widths:
            continue
        width, times = widths.most_common(1)[0]
        spaced = fmean(cell.startswith(" ") for row in rows for cell in row[1:] or [""])
        rank = times / widths.total(), 1 - spaced
        if width > 1 and rank > best:
            best, found = rank, (delimiter, rows)
    return found


def _tabs(path: Path, first: list[str]) -> Sample:
    plain = [line.split("\t") for line in first]
    rows = _parsed(first, "\t") if any('"' in line for line in first) else None
    quoted = rows is not None and _from_spreadsheet(plain, rows)
    return Sample(path, "\t", quoted, skipped=0, rows=rows if quoted and rows else plain)


def _from_spreadsheet(plain: list[list[str]], rows: list[list[str]]) -> bool:
    """Whether quotes hold cells together rather than belong to the text. A spreadsheet puts a cell
    in quotes if there is a quote, a tab or a line break in it, and doubles the quotes in it; or it
    puts every cell in quotes.
    """
    widths = Counter(len(row) for row in rows if row)
    if not widths or widths.most_common(1)[0][1] < 0.99 * widths.total():
        return False
    cells = [cell for row in plain for cell in row if cell]
    opened = [cell for cell in cells if cell.startswith('"')]
    bare = sum('"' in cell for cell in cells) - sum('"' in cell for cell in opened)
    needed = sum('""' in cell[1:-1] for cell in opened)
    needed += sum("\t" in cell or "\n" in cell for row in rows for cell in row)
    return needed > bare or len(opened) == len(cells)
