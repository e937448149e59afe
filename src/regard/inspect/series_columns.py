"""Columns that are known in advance, switched off one by one: what does a forecast owe to them?"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from regard.data.series import SeriesTable


def column_parts(table: SeriesTable, phases: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """What a model knows in advance, by name, and the columns of its input that hold it: those of
    the table, and two for each part of the calendar.
    """
    known = len(table.known_names)
    parts: dict[str, tuple[int, ...]] = {
        name: (place,) for place, name in enumerate(table.known_names)
    }
    for place, name in enumerate(phases, known):
        parts[name] = (place, place + len(phases))
    return parts


@contextmanager
def columns_off(model: Any, columns: Sequence[int]) -> Iterator[None]:
    """For a while, a model of series knows nothing of these columns: it reads their mean, which is
    how it reads a value that is missing.
    """

    def masked(module: Any, given: Any, found: Tensor) -> Tensor:
        found = found.clone()
        found[..., list(columns)] = 0.0
        return found

    if not columns:
        yield
        return
    hook = model.known.register_forward_hook(masked)
    try:
        yield
    finally:
        hook.remove()
