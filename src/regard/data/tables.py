"""Tables: .tsv and .csv files, and how they are read."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from regard.data.lines import LONGEST_LINE_BYTES, kind_of, lines, raw_lines
from regard.data.samples import DELIMITERS
from regard.data.spreadsheets import SPREADSHEETS, sheet_rows
from regard.errors import DataError

TABLES = (".tsv", ".csv", *SPREADSHEETS)


@dataclass(frozen=True)
class TableLayout:
    """How a table is read, and why."""

    delimiter: str
    quoted: bool  # cells may be in quotes, as spreadsheets write them
    header: tuple[str, ...]  # the names in the first line; () if it is an example
    columns: tuple[int, ...]  # those that are taken, from 0
    roles: tuple[str, ...]  # what each of these holds: "source", "target", "label", "text"
    why: str  # how these were found; "" if there was no choice
    width: int  # the number of columns
    skipped: int = 0  # lines before the header or the first row

    def remark(self, path: Path) -> str:
        """A sentence for the person whose table it is; "" if it is read as it must be."""
        how = []
        if self.delimiter and self.delimiter != (usual := "," if kind_of(path) == ".csv" else "\t"):
            how.append(f"{DELIMITERS[self.delimiter]} between columns")
        if self.quoted and self.delimiter == "\t" and usual == "\t":
            how.append("cells in quotes as spreadsheets write them")
        if not self.why and not how:
            return ""
        taken = ", ".join(
            f"{role} is column {self.column(at)}"
            for role, at in zip(self.roles, self.columns, strict=True)
        )
        of_all = f" of {self.width}" if self.width > len(self.columns) else ""
        why = f" ({self.why})" if self.why else ""
        return f"{path}: " + "; ".join([f"{taken}{of_all}{why}", *how])

    def column(self, number: int) -> str:
        """2 "review": the number of a column from 1, and its name."""
        name = self.header[number] if number < len(self.header) else ""
        return f'{number + 1} "{name}"' if name else str(number + 1)


def rows_of(path: Path, layout: TableLayout) -> Iterator[tuple[list[str], str]]:
    """The rows below the header, each with the place of its first line; [""] for an empty line."""
    before = layout.skipped + bool(layout.header)
    if kind_of(path) in SPREADSHEETS:
        for cells, number in islice(sheet_rows(path), before, None):
            yield cells + [""] * (layout.width - len(cells)), f"{path}:{number}"
        return
    if not layout.quoted:
        for line, place in islice(lines(path), before, None):
            yield line.split(layout.delimiter), place
        return
    for cells, place in _quoted_rows(path, layout):
        if before <= 0:
            if (
                layout.delimiter != "\t"
                and len(cells) > layout.width
                and any(cells[layout.width :])
            ):
                raise _too_wide(cells, layout, place)
            yield cells or [""], place
        before -= 1


def cells_of(path: Path, layout: TableLayout) -> Iterator[list[str]]:
    """The rows of `rows_of` without their places, in half the time; [] may be an empty line."""
    if kind_of(path) in SPREADSHEETS:
        yield from (cells for cells, _ in rows_of(path, layout))
        return
    texts = (line.decode() for line in raw_lines(path))
    before = layout.skipped + bool(layout.header)
    try:
        if layout.quoted:
            csv.field_size_limit(LONGEST_LINE_BYTES)
            whole = (f"{text}\n" for text in texts)
            yield from islice(
                csv.reader(whole, delimiter=layout.delimiter, strict=True), before, None
            )
        else:
            yield from (text.split(layout.delimiter) for text in islice(texts, before, None))
    except (UnicodeDecodeError, csv.Error):
        for _ in rows_of(path, layout):
            pass  # it says where, and what to do
        raise


def _too_wide(cells: list[str], layout: TableLayout, place: str) -> DataError:
    return DataError(
        f"{place}: {len(cells)} columns, the first line has {layout.width};"
        f' put cells that hold a "{layout.delimiter}" in quotes'
    )


def _quoted_rows(path: Path, layout: TableLayout) -> Iterator[tuple[list[str], str]]:
    csv.field_size_limit(LONGEST_LINE_BYTES)
    reader = csv.reader(
        (f"{line}\n" for line, _ in lines(path)), delimiter=layout.delimiter, strict=True
    )
    while True:
        begin = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise _misquoted(path, begin, reader.line_num, str(error)) from None
        if cells is None:
            return
        yield cells, f"{path}:{begin}"


def _misquoted(path: Path, begin: int, end: int, error: str) -> DataError:
    if "new-line" in error:
        return DataError(
            f"{path}:{begin}: a lone carriage return, which ends lines only on old Macintoshes;"
            " save the file with other line ends"
        )
    if "unexpected end" in error or end > begin:
        return DataError(
            f"{path}:{begin}: a cell begins with a quote that is not closed where the cell ends;"
            ' close it, and write a quote inside a cell twice ("")'
        )
    return DataError(
        f"{path}:{begin}: text follows a closing quote; write a quote inside a cell twice"
        ' (""), and the cell in quotes'
    )
