"""Tables of series as files of arrays."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.series import Series, SeriesTable
from regard.data.steps import Clock, Step
from regard.errors import RunError
from regard.files import read_arrays, write_arrays
from regard.small_files import parse_json, refusing


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
    with refusing(RunError(f"{path}: damaged (not a table of series)")):
        facts: dict[str, Any] = parse_json(metadata["table"])
        values, known, starts = (arrays[name] for name in ("values", "known", "starts"))
        ends = arrays["lengths"].cumsum(0)
        begins = ends - arrays["lengths"]
        series = [
            Series(name, int(start), values[begin[0] : end[0]], known[begin[1] : end[1]])
            for name, start, begin, end in zip(facts["names"], starts, begins, ends, strict=True)
        ]
        clock = Clock(Step(*facts["step"]), facts["zone"])
        names, remarks = tuple(facts["known"]), facts["remarks"]
        return SeriesTable(series, clock, facts["target"], names, remarks)


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
