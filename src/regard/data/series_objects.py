"""Tables of series as files of JSON: an object is a row, and its keys are the columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from regard.data.objects import objects, shown
from regard.data.samples import SAMPLE_LINES, Sample
from regard.errors import DataError

# The column of numbers that are no objects.
VALUE = "value"


def object_sample(path: Path) -> Sample:
    """The keys of the first objects as a header, and their values below it."""
    keys = _keys(path)
    rows = [[" ".join(key.split()) for key in keys]]
    rows += [row for row, _ in islice(object_rows(path), SAMPLE_LINES)]
    return Sample(path, ",", quoted=True, skipped=0, rows=rows)


def object_rows(path: Path) -> Iterator[tuple[list[str], str]]:
    """The values of each object as cells of a table, with its place."""
    keys = _keys(path)
    for entry, place in objects(path):
        if entry is None:
            yield [""], place
            continue
        values = _as_object(entry, place)
        yield [_cell(values.get(key), key, place) for key in keys], place


def _keys(path: Path) -> list[str]:
    found: dict[str, None] = {}
    for entry, place in islice(objects(path), SAMPLE_LINES):
        if entry is not None:
            found |= dict.fromkeys(_as_object(entry, place))
    if not found:
        raise DataError(f"{path}: there are no objects in it; write one for each row")
    return list(found)


def _as_object(entry: Any, place: str) -> dict[str, Any]:
    if isinstance(entry, int | float):
        return {VALUE: entry}
    if not isinstance(entry, dict):
        raise DataError(
            f'{place}: {shown(entry)} is no row of a table; write objects like {{"t": "2024-01-31",'
            ' "load": 5.5}'
        )
    return entry


def _cell(value: Any, key: str, place: str) -> str:
    if isinstance(value, dict | list):
        raise DataError(f"{place}: {key} is {shown(value)}; write one number or text")
    return "" if value is None else str(value)
