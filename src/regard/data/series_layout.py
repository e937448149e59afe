"""How a table of series is laid out: which columns are times, ids, values and known in advance.

Columns are named by a person, or found by what they hold. Each choice is explained in a remark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data.columns import layout_of, place_of
from regard.data.lines import kind_of
from regard.data.objects import OBJECTS
from regard.data.samples import DELIMITERS
from regard.data.series import SeriesColumns
from regard.data.series_columns import (
    SeriesColumn,
    columns_of,
    names_of,
    series_sample,
    shows_header,
)
from regard.data.series_search import SETTINGS, ColumnSearch, Shape
from regard.data.tables import TableLayout
from regard.errors import DataError


@dataclass(frozen=True)
class SeriesLayout:
    """Where a table has what, with numbers of columns from 0.

    In the shape "columns" each target is a series, in "ids" each id is one, in "rows" each row.
    """

    table: TableLayout
    columns: Sequence[SeriesColumn]
    shape: Shape
    time: tuple[int, ...]
    id: tuple[int, ...]
    target: tuple[int, ...]
    known: tuple[int, ...]
    remarks: tuple[str, ...]

    def name(self, number: int) -> str:
        return self.columns[number].name or f"column {number + 1}"

    @property
    def needed(self) -> int:
        """How many columns a row must have."""
        return max((*self.time, *self.id, *self.target, *self.known), default=0) + 1


def series_layout(path: Path, wanted: SeriesColumns) -> SeriesLayout:
    """How the table in a file is laid out."""
    sample = series_sample(path)
    names = [name.lower() for name in names_of(sample)]
    asked = [each for setting in SETTINGS for each in getattr(wanted, setting)]
    by_name = any(isinstance(each, str) and each.strip().lower() in names for each in asked)
    header = by_name or kind_of(path) in OBJECTS or shows_header(sample)
    if not any(any(row) for row in sample.rows[header:]):
        raise DataError(f"{place_of(sample)}: there are no rows of values; give some")
    search = ColumnSearch(sample, header, columns_of(sample, header))
    shape = search.decide(wanted)
    if sample.skipped:
        search.say(f"the first {sample.skipped} lines are above the table and are left out")
    if sample.delimiter != ("\t" if kind_of(path) == ".tsv" else ","):
        search.say(f"{DELIMITERS[sample.delimiter]} are between columns")
    if any(search.columns[each].format.comma for each in (*search.target, *search.known)):
        search.say("numbers have a decimal comma")
    if not header:
        search.say("the first line names no columns, so it is a row like the others")
    return SeriesLayout(
        layout_of(sample, header, (), (), ""),
        search.columns,
        shape,
        search.time,
        search.id,
        search.target,
        search.known,
        tuple(f"{path}: {reason}" for reason in search.reasons),
    )
