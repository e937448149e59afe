"""The rows of a table of series as arrays: times, ids, values and what is known in advance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.data.lines import kind_of
from regard.data.numbers import MISSING, NumberFormat, yes_or_no
from regard.data.objects import OBJECTS
from regard.data.series import Floats
from regard.data.series_columns import SeriesColumn, are_dates
from regard.data.series_layout import SeriesLayout
from regard.data.series_objects import object_rows
from regard.data.tables import cells_of, rows_of
from regard.data.time_texts import ReadTimes, Where, read_times
from regard.errors import DataError, shown

# Rows that are in memory as texts at a time.
ROWS_AT_ONCE = 8192


@dataclass(frozen=True)
class SeriesRows:
    """Rows of one or several tables. `codes` number the ids of the rows in `names`."""

    names: list[str]
    codes: NDArray[np.int64]  # [N]
    read: ReadTimes
    targets: tuple[str, ...]
    values: Floats  # [N, targets]
    known: Floats  # [N, known columns]
    infinite: int
    where: Where

    def __len__(self) -> int:
        return len(self.codes)

    def only(self, kept: NDArray[np.bool_], read: ReadTimes) -> SeriesRows:
        """Some of the rows, with new times."""
        numbers = np.flatnonzero(kept)
        return replace(
            self,
            codes=self.codes[kept],
            read=replace(read, times=read.times[kept]),
            values=self.values[kept],
            known=self.known[kept],
            where=lambda at: self.where(int(numbers[at])),
        )


def read_rows(path: Path, layout: SeriesLayout, dates: str) -> SeriesRows:
    """The rows of a table in which times run from row to row."""
    codes_of: dict[str, int] = {}
    codes: list[int] = []
    times: list[str] = []
    numbers: list[list[Floats]] = [[] for _ in (*layout.target, *layout.known)]
    infinite = 0

    def where(row: int) -> str:
        return place_of_row(path, layout, row)

    for columns in _columns(path, layout, where):
        if layout.id:
            names = _names([columns[at] for at in layout.id])
            codes += [codes_of.setdefault(name, len(codes_of)) for name in names]
        times += _time_texts(columns, layout)
        for at, found in zip((*layout.target, *layout.known), numbers, strict=True):
            values, bad = _numbers(columns[at], layout.columns[at], at in layout.known)
            if bad is not None:
                row = sum(map(len, found)) + bad
                raise _no_number(layout.name(at), columns[at][bad], where(row))
            infinite += _infinite(values, columns[at])
            found.append(values)
    count, size = sum(map(len, numbers[0])), len(layout.target)
    table = np.stack([np.concatenate(found) for found in numbers], 1)
    if layout.time:
        read = read_times(times, where, dates)
    else:
        read = ReadTimes(_counted(np.array(codes), count), kind="rows")
    return SeriesRows(
        list(codes_of) or [""],
        np.array(codes, np.int64) if layout.id else np.zeros(count, np.int64),
        read,
        tuple(layout.name(at) for at in layout.target),
        table[:, :size],
        table[:, size:],
        infinite,
        where,
    )


def _counted(codes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The numbers of the rows, or of the rows of each id."""
    if not len(codes):
        return np.arange(count)
    order = np.argsort(codes, kind="stable")
    found = np.empty(count, np.int64)
    starts = np.flatnonzero(np.r_[True, np.diff(codes[order]) != 0])
    lengths = np.diff(np.r_[starts, count])
    found[order] = np.arange(count) - np.repeat(starts, lengths)
    return found


def place_of_row(path: Path, layout: SeriesLayout, row: int) -> str:
    """The place of a row, which is looked for only when it is needed."""
    for at, (_, place) in enumerate(_kept(path, layout)):
        if at == row:
            return place
    return str(path)


def _is_kept(row: Sequence[str], layout: SeriesLayout) -> bool:
    """Whether a row counts: where rows are counted, an empty one is a value that is missing."""
    return any(row) or (not layout.time and layout.shape == "columns")


def _kept(path: Path, layout: SeriesLayout) -> Iterator[tuple[list[str], str]]:
    of_objects = kind_of(path) in OBJECTS
    rows = object_rows(path) if of_objects else rows_of(path, layout.table)
    return (each for each in rows if _is_kept(each[0], layout))


def _cells(path: Path, layout: SeriesLayout) -> Iterator[list[str]]:
    if kind_of(path) in OBJECTS:
        return (row for row, _ in object_rows(path))
    return cells_of(path, layout.table)


def _columns(path: Path, layout: SeriesLayout, where: Where) -> Iterator[list[Sequence[str]]]:
    """The cells of each column, for some rows at a time."""
    cells, done, needed = _cells(path, layout), 0, layout.needed
    while chunk := list(islice(cells, ROWS_AT_ONCE)):
        rows = [row if any(row) else [""] * needed for row in chunk if _is_kept(row, layout)]
        sizes = {len(row) for row in rows}
        if max(sizes, default=0) > layout.table.width:
            for _ in rows_of(path, layout.table):
                pass  # a row that is too wide says so
        if min(sizes, default=needed) < needed:
            at = next(at for at, row in enumerate(rows) if len(row) < needed)
            raise DataError(
                f"{where(done + at)}: {len(rows[at])} columns, and {layout.name(needed - 1)} is"
                f" column {needed}; complete the row, or remove it"
            )
        done += len(rows)
        if rows:
            yield list(zip(*rows, strict=False))


def _time_texts(columns: Sequence[Sequence[str]], layout: SeriesLayout) -> list[str]:
    parts = [[cell.strip() for cell in columns[at]] for at in layout.time]
    if len(parts) < 2:
        return parts[0] if parts else []
    if layout.columns[layout.time[0]].is_time:
        return [_with_clock(day, clock) for day, clock in zip(parts[0], parts[1], strict=True)]
    return [_from_calendar(cells) for cells in zip(*parts, strict=True)]


def _with_clock(day: str, clock: str) -> str:
    """A day with the time of day in another column, which may be the number of the hour."""
    return f"{day} {clock}" if ":" in clock or not clock else f"{day} {clock.partition('.')[0]}:00"


def _from_calendar(cells: Sequence[str]) -> str:
    """The time in columns of the year, the month, the day, the hour and the minute."""
    parts = [cell.partition(".")[0].zfill(2) for cell in cells]
    clock = ":".join([*parts[3:5], "00"][:2]) if len(parts) > 3 else ""
    return f"{'-'.join(parts[:3])} {clock}".rstrip()


def _numbers(cells: Sequence[str], column: SeriesColumn, known: bool) -> tuple[Floats, int | None]:
    if known and column.is_yes_or_no:
        return yes_or_no(cells)
    return column.format.values(cells)


def _infinite(values: Floats, cells: Sequence[str]) -> int:
    """How many cells say that they are infinite, which counts as missing."""
    missing = np.flatnonzero(np.isnan(values)).tolist()
    return sum(cells[at].strip().lower() not in MISSING for at in missing)


def _no_number(name: str, cell: str, place: str) -> DataError:
    return DataError(
        f"{place}: {name} is {shown(cell.strip())}, which is no number; write a number, or leave"
        " the cell empty where it is missing"
    )


def read_series_rows(path: Path, layout: SeriesLayout, dates: str) -> SeriesRows:
    """The rows of a table in which each row is a series, as rows in which times run on."""
    heads = [layout.columns[at].name for at in layout.target]
    size, found, infinite = len(heads), list[Floats](), 0
    places: dict[str, str] = {}
    format = NumberFormat(any(layout.columns[at].format.comma for at in layout.target))
    for number, (row, place) in enumerate(_kept(path, layout), start=1):
        if len(row) <= max(layout.id, default=0):
            raise DataError(f"{place}: the name of the series is missing; write it in this row")
        cells = [row[at] if at < len(row) else "" for at in layout.target]
        values, bad = format.values(cells)
        if bad is not None:
            raise _no_number(layout.name(layout.target[bad]), cells[bad], place)
        infinite += _infinite(values, cells)
        name = "".join(_names([[row[at]] for at in layout.id])) or f"row {number}"
        if name in places:
            raise DataError(
                f"{place}: the series {name} is in {places[name]}, too; give each a name of its own"
            )
        places[name] = place
        found.append(values)
    read = ReadTimes(np.arange(size), kind="rows")
    if are_dates(heads):
        read = read_times(heads, lambda _: f"{path}:{layout.table.skipped + 1}", dates)
    times, count = np.tile(read.times, len(places)), len(places)
    offsets = None if read.offsets is None else np.tile(read.offsets, count)
    return SeriesRows(
        list(places),
        np.repeat(np.arange(count), size),
        replace(read, times=times, offsets=offsets),
        ("",),
        np.concatenate(found).reshape(-1, 1),
        np.zeros((count * size, 0)),
        infinite,
        lambda at: place_of_row(path, layout, at // size),
    )


def _names(columns: Sequence[Sequence[str]]) -> list[str]:
    """The names of series, of one column or several."""
    if len(columns) == 1:
        return [cell.strip() for cell in columns[0]]
    rows = zip(*columns, strict=True)
    return [" / ".join(filter(None, map(str.strip, cells))) for cells in rows]
