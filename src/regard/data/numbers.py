"""Numbers as tables write them: with a decimal point or comma, in thousands, or missing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# What stands for a value that is not there, in lower case.
MISSING = {
    *("", "na", "n/a", "#n/a", "#na", "<na>", "n.a.", "nan", "-nan", "nat", "null", "none", "nil"),
    *("-", "--", "---", "–", "—", "?", ".", "..", "...", "…", "*", "missing", "\\n"),
}
INFINITE = frozenset(
    f"{sign}{name}" for sign in ("", "+", "-") for name in ("inf", "infinity", "∞")
)
YES = {
    **dict.fromkeys(("true", "yes", "y", "t"), 1.0),
    **dict.fromkeys(("false", "no", "n", "f"), 0.0),
}
_PLAIN = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
# Digits with marks between them; a space between thousands may be of any width.
_MARKED = re.compile(r"[-+]?\d*(?:[.,' ’\u00a0\u2009\u202f]\d+)*(?:[eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:[.,]\d{3})+")
_SPACES = str.maketrans("", "", " '’\u00a0\u2009\u202f")


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a table are written."""

    comma: bool = False  # it is the decimal mark, and a point is between thousands

    def value(self, cell: str) -> float | None:
        """The number in a cell: NaN if it is missing or infinite, None if there is other text."""
        cell = cell.strip()
        if (lower := cell.lower()) in MISSING or lower in INFINITE:
            return np.nan
        cell = cell.replace("\u2212", "-")
        if not self.comma and _PLAIN.fullmatch(cell):
            return _finite(cell)
        if not any(map(str.isdecimal, cell)) or not _MARKED.fullmatch(cell):
            return None
        cell = cell.translate(_SPACES)
        whole, mark, rest = cell.rpartition("," if self.comma else ".")
        group = "." if self.comma else ","
        if not mark:
            whole, rest = cell, ""
        if group in rest or "," in whole.replace(group, "") or "." in whole.replace(group, ""):
            return None
        if group in whole and not _THOUSANDS.fullmatch(whole):
            return None
        return _finite(f"{whole.replace(group, '')}{'.' if mark else ''}{rest}")

    def _plain(self, cells: Sequence[str]) -> Sequence[str]:
        """The cells with decimal points, if that is all that differs."""
        if not self.comma:
            return cells
        text = "\n".join(cells)
        if "." in text or text.count("\n") != len(cells) - 1:
            raise ValueError
        return text.replace(",", ".").split("\n")

    def is_number(self, cell: str) -> bool:
        value = self.value(cell)
        return value is not None and value == value

    def values(self, cells: Sequence[str]) -> tuple[NDArray[np.float64], int | None]:
        """The numbers of some cells, and which is the first that holds other text."""
        try:
            found = np.array(list(map(float, self._plain(cells))))
        except ValueError:
            pass  # some are missing, or have thousands
        else:
            found[np.isinf(found)] = np.nan
            return found, None
        result = np.empty(len(cells))
        known: dict[str, float | None] = {}
        for at, cell in enumerate(cells):
            if cell not in known:
                known[cell] = self.value(cell)
            value = known[cell]
            if value is None:
                return result, at
            result[at] = value
        return result, None


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else math.nan


def number_format(cells: Iterable[str], commas_between_cells: bool) -> NumberFormat:
    """How numbers are written, by those in which it shows: 1,5 and 1.234,5, or 1,234.5."""
    unclear = 0
    for cell in cells:
        text = cell.strip().translate(_SPACES)
        if "," not in text or not any(map(str.isdecimal, text)) or not _MARKED.fullmatch(text):
            continue
        if text.count(",") > 1 or "." in text[text.index(",") :]:
            return NumberFormat(comma=False)
        if "." in text or not _THOUSANDS.fullmatch(text):
            return NumberFormat(comma=True)
        unclear += 1
    # 1,234 alone: who has commas between the cells has none in front of decimals.
    return NumberFormat(comma=bool(unclear) and not commas_between_cells)


def yes_or_no(cells: Sequence[str]) -> tuple[NDArray[np.float64], int | None]:
    """1 and 0 for yes and no, true and false, and which is the first cell with other text."""
    values = [
        np.nan if (lower := cell.strip().lower()) in MISSING else YES.get(lower) for cell in cells
    ]
    bad = next((at for at, value in enumerate(values) if value is None), None)
    return np.array([np.nan if value is None else value for value in values]), bad
