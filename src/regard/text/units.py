"""The units of a text, and how much each unit of a translation comes from each of its source.

A unit is a word, a mark that is shown among words, or any other character.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from regard.text.marks import UNIT

# [T, S]: units of a translation, units of its source.
Links = npt.NDArray[np.float64]

# How much more a unit comes from an equal one, and how far from the diagonal it may come from where
# nothing else is known, as a share of the length.
EQUAL, WIDTH = 4.0, 0.15


class Unit(NamedTuple):
    """A unit by its place; `mark` is the number of the mark that is shown there, -1 for none, and
    `dropped` says that it is not written.
    """

    start: int
    end: int
    text: str
    mark: int = -1
    dropped: bool = False

    @property
    def is_word(self) -> bool:
        return self.mark >= 0 or self.text[0].isalnum()


def units(text: str, shown: Mapping[tuple[int, int], int] | None = None) -> list[Unit]:
    """The units of a text in which marks are shown at these places."""
    found, place = [], 0
    for (start, end), mark in sorted((shown or {}).items()):
        found += [Unit(*each.span(), each[0]) for each in UNIT.finditer(text, place, start)]
        found.append(Unit(start, end, text[start:end], mark, dropped=mark < 0))
        place = end
    return found + [Unit(*each.span(), each[0]) for each in UNIT.finditer(text, place)]


def linked(source: Sequence[Unit], found: Sequence[Unit], weights: Links | None) -> Links:
    """[T, S]: links by attention, or by place where there is none. Equal words are linked, too, and
    a mark that is shown on both sides is linked to itself alone.
    """
    rows = (np.arange(len(found)) + 0.5) / max(1, len(found))
    columns = (np.arange(len(source)) + 0.5) / max(1, len(source))
    near = np.exp(-(((rows[:, None] - columns) / WIDTH) ** 2))
    links = near if weights is None else weights + 1e-3 * near
    source_texts = [unit.text.casefold() for unit in source]
    found_texts = [unit.text.casefold() for unit in found]
    of_mark = {unit.mark: place for place, unit in enumerate(source) if unit.mark >= 0}
    for row, (unit, text) in enumerate(zip(found, found_texts, strict=True)):
        equal = [place for place, each in enumerate(source_texts) if each == text]
        anchor = of_mark.get(unit.mark, -1)
        if anchor < 0 and len(equal) == 1 == found_texts.count(text) and unit.is_word:
            anchor = equal[0]
        if anchor >= 0:
            links[row] = 0.0
            links[row, anchor] = 1.0
        else:
            links[row, equal] *= EQUAL
    return links


def over_units(
    weights: npt.NDArray[np.float32],
    target_pieces: Sequence[tuple[int, int]],
    target: Sequence[Unit],
    source_pieces: Sequence[tuple[int, int]],
    source: Sequence[Unit],
) -> Links:
    """Attention over pieces, which are given by their places, as attention over units: the mean of
    a unit's pieces, to the sum of another's.
    """
    rows, columns = owners(target_pieces, target), owners(source_pieces, source)
    merged = rows @ weights.astype(np.float64) @ columns.T
    return np.asarray(merged / np.maximum(rows.sum(1, keepdims=True), 1.0))


def owners(pieces: Sequence[tuple[int, int]], found: Sequence[Unit]) -> Links:
    """[units, pieces]: 1 where a piece ends in a unit."""
    table = np.zeros((len(found), len(pieces)))
    ends = [unit.end for unit in found]
    for piece, (start, end) in enumerate(pieces):
        unit = bisect_left(ends, end)
        if start < end and unit < len(found) and found[unit].start < end:
            table[unit, piece] = 1.0
    return table
