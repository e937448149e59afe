"""Tables of series: files to a SeriesTable.

A table may have a column for each series, a row for each series, or one column of ids beside one of
values. Times, ids and values are found by what the columns hold, and every choice is explained in a
remark. What cannot be read is refused in one sentence with its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from regard.data.lines import check_file
from regard.data.series import SeriesColumns, SeriesReading, SeriesTable
from regard.data.series_grid import gridded
from regard.data.series_layout import SeriesLayout, series_layout
from regard.data.series_rows import SeriesRows, read_rows, read_series_rows
from regard.data.time_forms import ORDERS
from regard.errors import DataError

__all__ = ["SeriesColumns", "SeriesReading", "read_series"]


def read_series(
    paths: Sequence[Path],
    columns: SeriesColumns | None = None,
    reading: SeriesReading | None = None,
) -> SeriesTable:
    """Read one or several tables of series.

    Parameters
    ----------
    paths
        Files: .csv or .tsv, also compressed with gzip or bzip2. Several files have the same columns
        and hold later times of the same series, or a series each.
    columns
        The columns that a person has named; those that are left out are looked for.
    reading
        How times are read.

    Returns
    -------
    SeriesTable

    Raises
    ------
    DataError
        A table cannot be read; the sentence says where, why and what to do.
    """
    columns, reading = columns or SeriesColumns(), reading or SeriesReading()
    if reading.dates and reading.dates not in ORDERS:
        known = ", ".join(ORDERS)
        raise DataError(f"dates {reading.dates}: there is no such order; write one of {known}")
    files = [_read(path, columns, reading) for path in paths]
    rows, remarks = together(files)
    table = gridded(rows, files[0].known, reading)
    told = [f"{paths[0]}: {remark}" for remark in (*remarks, *table.remarks) if remark]
    return replace(
        table, remarks=[*(each for file in files for each in file.layout.remarks), *told]
    )


@dataclass(frozen=True)
class SeriesFile:
    """One file of a table."""

    path: Path
    layout: SeriesLayout
    rows: SeriesRows

    @property
    def known(self) -> tuple[str, ...]:
        return tuple(self.layout.name(at) for at in self.layout.known)

    @property
    def counts_rows(self) -> bool:
        """Whether it has no times, so that each file begins with 0."""
        return not self.layout.time and self.rows.read.kind == "rows"

    @property
    def stem(self) -> str:
        return self.path.name.partition(".")[0]


def _read(path: Path, columns: SeriesColumns, reading: SeriesReading) -> SeriesFile:
    check_file(path)
    layout = series_layout(path, columns)
    read = read_series_rows if layout.shape == "rows" else read_rows
    return SeriesFile(path, layout, read(path, layout, reading.dates))


def together(files: Sequence[SeriesFile]) -> tuple[SeriesRows, list[str]]:
    """The rows of all files, and remarks on how they go together."""
    first, *others = files
    if not others:
        return first.rows, [first.rows.read.remark]
    for other in others:
        _refuse_unlike(first, other)
    remarks = list(dict.fromkeys(file.rows.read.remark for file in files))
    parts = [file.rows for file in files]
    if first.rows.names == [""] and (first.counts_rows or _overlap(parts)):
        parts = [replace(each.rows, names=[each.stem]) for each in files]
        remarks.append("each file is a series, as their times are the same")
    elif first.counts_rows:
        parts = _one_after_another(parts)
        remarks.append("later files continue the series of the first")
    return _joined(parts), remarks


def _refuse_unlike(first: SeriesFile, other: SeriesFile) -> None:
    same = (
        {*other.rows.targets} == {*first.rows.targets}
        and other.known == first.known
        and other.rows.read.kind == first.rows.read.kind
        and (other.rows.read.offsets is None) == (first.rows.read.offsets is None)
        and bool(other.layout.id) == bool(first.layout.id)
    )
    if not same:
        raise DataError(
            f"{other.path}: its columns or its times are not like those of {first.path}; give files"
            " with the same columns, or one file"
        )


def _overlap(parts: Sequence[SeriesRows]) -> bool:
    """Whether some files have times in common."""
    spans = sorted((int(each.read.times.min()), int(each.read.times.max())) for each in parts)
    return any(later[0] <= earlier[1] for earlier, later in pairwise(spans))


def _one_after_another(parts: Sequence[SeriesRows]) -> list[SeriesRows]:
    """Files without times, in which each series continues where it ended in the file before."""
    ends: dict[str, int] = {}
    result = []
    for part in parts:
        begins = np.array([ends.get(name, 0) for name in part.names])
        times = part.read.times + begins[part.codes]
        there = ~np.isnan(part.values).all(1)
        last = np.full(len(part.names), -1)
        np.maximum.at(last, part.codes[there], times[there])
        ends |= {name: int(at) + 1 for name, at in zip(part.names, last, strict=True) if at >= 0}
        kept = there | (times <= last[part.codes])
        result.append(part.only(kept, replace(part.read, times=times)))
    return result


def _joined(parts: Sequence[SeriesRows]) -> SeriesRows:
    first = parts[0]
    codes_of = {
        name: at for at, name in enumerate(dict.fromkeys(n for p in parts for n in p.names))
    }
    codes = [np.array([codes_of[name] for name in part.names])[part.codes] for part in parts]
    order = [[part.targets.index(name) for name in first.targets] for part in parts]
    offsets = [part.read.offsets for part in parts if part.read.offsets is not None]
    times = np.concatenate([part.read.times for part in parts])
    edges = np.cumsum([len(part) for part in parts])

    def where(row: int) -> str:
        part = int(np.searchsorted(edges, row, side="right"))
        return parts[part].where(row - (int(edges[part - 1]) if part else 0))

    return SeriesRows(
        list(codes_of),
        np.concatenate(codes),
        replace(first.read, times=times, offsets=np.concatenate(offsets) if offsets else None),
        first.targets,
        np.concatenate([part.values[:, at] for part, at in zip(parts, order, strict=True)]),
        np.concatenate([part.known for part in parts]),
        sum(part.infinite for part in parts),
        where,
    )
