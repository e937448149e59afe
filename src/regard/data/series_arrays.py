"""Tables of series as files of arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from regard.data.series import Series, SeriesTable
from regard.data.steps import Clock, Step, Unit
from regard.data.zones import checked_zone
from regard.errors import DataError, RunError
from regard.files import read_arrays, write_arrays
from regard.small_files import parse_json, refusing
from regard.text.normalise import is_unicode

LARGEST_STEP = 10**18


def save_table(table: SeriesTable, path: Path) -> None:
    """Write a table to a file, which `load_table` reads."""
    series = table.series
    arrays = {
        "values": np.concatenate([each.values for each in series]),
        "known": np.concatenate([each.known for each in series]),
        "starts": np.array([each.start for each in series], np.int64),
        "lengths": np.array([(len(each.values), len(each.known)) for each in series], np.int64),
    }
    step = table.clock.step
    facts = {
        "names": table.names,
        "step": [step.count, step.unit],
        "zone": table.clock.zone,
        "target": table.target,
        "known": table.known_names,
        "remarks": table.remarks,
    }
    write_arrays(path, arrays, {"table": json.dumps(facts)})


def load_table(path: Path) -> SeriesTable:
    arrays, metadata = read_arrays(path)
    refusal = RunError(f"{path}: damaged (not a table of series)")
    with refusing(refusal):
        match parse_json(metadata["table"]):
            case {
                "names": [*names],
                "step": [int(count), str(unit)],
                "zone": str(zone),
                "target": str(target),
                "known": [*known],
                "remarks": [*remarks],
            } if all(map(is_unicode, (*names, zone, target, *known, *remarks))):
                clock = read_clock(count, unit, zone)
                series = read_series(arrays, names, len(known))
                if clock and all(clock.holds(each.start, len(each.known)) for each in series):
                    return SeriesTable(series, clock, target, tuple(known), remarks)
    raise refusal


def read_clock(count: int, unit: str, zone: str) -> Clock | None:
    """The clock of these facts; None if there is no such step or zone."""
    if unit not in get_args(Unit) or not 0 < count < LARGEST_STEP:
        return None
    try:
        return Clock(Step(count, cast("Unit", unit)), checked_zone(zone))
    except DataError:
        return None


def read_series(
    arrays: Mapping[str, NDArray[Any]], names: Sequence[str], num_known: int
) -> list[Series]:
    """Series by these names; a ValueError where the arrays are not what `save_table` writes."""
    values, known, starts, lengths = (
        arrays[name] for name in ("values", "known", "starts", "lengths")
    )
    kinds = {"values": "f8", "known": "f8", "starts": "i8", "lengths": "i8"}
    if any(arrays[name].dtype != kind for name, kind in kinds.items()) or (
        (values.ndim, known.shape[1:], starts.shape, lengths.shape)
        != (1, (num_known,), (len(names),), (len(names), 2))
    ):
        raise ValueError("arrays of other shapes")
    sizes = (len(values), len(known))
    if not len(names) or not ((lengths > 0) & (lengths <= sizes)).all():
        raise ValueError("series of other lengths")
    ends = lengths.cumsum(0)
    if tuple(ends[-1]) != sizes or (lengths[:, 0] > lengths[:, 1]).any():
        raise ValueError("series of other lengths")
    begins = ends - lengths
    return [
        Series(name, int(start), values[begin[0] : end[0]], known[begin[1] : end[1]])
        for name, start, begin, end in zip(names, starts, begins, ends, strict=True)
    ]


def last_part(table: SeriesTable, steps: int) -> SeriesTable:
    """The last steps of each series, and what is known after them."""
    return replace(
        table,
        series=[
            Series(
                each.name,
                int(table.clock.times(each.start, first + 1)[-1]),
                each.values[first:],
                each.known[first:],
            )
            for each in table.series
            for first in (max(0, len(each) - steps),)
        ],
    )
