"""What the columns of a table of series hold, as far as the first rows show it."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from regard.data.lines import kind_of
from regard.data.numbers import INFINITE, MISSING, YES, NumberFormat, number_format
from regard.data.objects import OBJECTS
from regard.data.samples import Sample, sampled, sampled_at
from regard.data.series_objects import object_sample
from regard.data.time_forms import YEARS, looks_like_clock, looks_like_time
from regard.data.time_texts import LONGEST_NUMBER, read_times
from regard.errors import DataError

# Rows that are looked at; a column that is empty in them is looked at in later ones.
LOOKED_AT = 300
# A column of numbers or times has at most this share of other texts, which are errors in it.
MOST_OTHERS = 0.2
# Lines above the table, such as a title, are left out if there are no more than these.
MOST_LINES_ABOVE = 20
SAME_WIDTH = 0.8

NO_VALUES = MISSING | INFINITE
_COUNTED = re.compile(rf"(\D*?)(\d{{1,{LONGEST_NUMBER}}})")


@dataclass(frozen=True)
class SeriesColumn:
    """What a column holds."""

    number: int  # from 0
    name: str
    values: Sequence[str]  # the first that are not missing
    format: NumberFormat

    @cached_property
    def is_number(self) -> bool:
        return self._mostly(sum(map(self.format.is_number, self.values)))

    @cached_property
    def is_time(self) -> bool:
        return self._mostly(sum(map(looks_like_time, self.values)))

    @cached_property
    def is_clock(self) -> bool:
        return self._mostly(sum(map(looks_like_clock, self.values)))

    @cached_property
    def is_yes_or_no(self) -> bool:
        return self._mostly(sum(each.lower() in YES for each in self.values))

    @property
    def is_empty(self) -> bool:
        return not self.values

    @property
    def is_text(self) -> bool:
        return not (self.is_empty or self.is_number or self.is_time or self.is_clock)

    @cached_property
    def whole_numbers(self) -> list[int]:
        """The values, if all of them are whole numbers; else none."""
        found = [self.format.value(each) for each in self.values]
        whole = [int(each) for each in found if each is not None and each.is_integer()]
        return whole if len(whole) == len(found) else []

    @property
    def distinct(self) -> int:
        return len(set(self.values))

    def _mostly(self, count: int) -> bool:
        others = len(self.values) - count
        return count > others and others <= max(1, MOST_OTHERS * len(self.values))


def series_sample(path: Path) -> Sample:
    """The first rows of a table. Numbers may have commas, so semicolons and tabs count first."""
    if kind_of(path) in OBJECTS:
        return object_sample(path)
    sample = sampled(path)
    if (not sample.skipped and sample.delimiter == ",") or kind_of(path) not in (".csv", ".tsv"):
        for delimiter in ("\t", ";", ","):
            other = sampled_at(path, delimiter)
            width, share = _usual_width(_without_lines_above(other))
            if width > 1 and share >= SAME_WIDTH:
                sample = replace(other, quoted=True)
                break
    return _without_lines_above(sample)


def _usual_width(sample: Sample) -> tuple[int, float]:
    widths = Counter(len(row) for row in sample.rows if any(row))
    width, count = widths.most_common(1)[0] if widths else (0, 0)
    return width, count / max(1, widths.total())


def _without_lines_above(sample: Sample) -> Sample:
    width, _ = _usual_width(sample)
    above = next((at for at, row in enumerate(sample.rows) if len(row) == width), 0)
    below = replace(sample, skipped=sample.skipped + above, rows=sample.rows[above:])
    if not 0 < above <= MOST_LINES_ABOVE or _usual_width(below)[1] < SAME_WIDTH:
        return sample
    return below


def columns_of(sample: Sample, header: bool) -> list[SeriesColumn]:
    names = names_of(sample) if header else [""] * sample.width
    cells: list[list[str]] = [[] for _ in range(sample.width)]
    rows = sample.rows[header:]
    for at, column in enumerate(cells):
        for start in range(0, len(rows), LOOKED_AT):
            found = (row[at].strip() for row in rows[start : start + LOOKED_AT] if at < len(row))
            column += [cell for cell in found if cell.lower() not in NO_VALUES]
            if column:
                break
    return [
        SeriesColumn(at, name, values, number_format(values, sample.delimiter == ","))
        for at, (name, values) in enumerate(zip(names, cells, strict=True))
    ]


def names_of(sample: Sample) -> list[str]:
    """The names in the first row; one that occurs again has its number with it."""
    names: list[str] = []
    taken: set[str] = set()
    times: Counter[str] = Counter()
    for name in sample.first_row:
        new = name
        while new and new in taken:
            times[name] += 1
            new = f"{name} ({times[name] + 1})"
        taken.add(new)
        names.append(new)
    return names


def shows_header(sample: Sample) -> bool:
    """Whether the first row names columns: words above numbers or times, and nothing else; or dates
    or counted names above numbers.
    """
    if not sample.rows:
        return False
    columns = columns_of(sample, header=False)
    below = columns_of(replace(sample, rows=[[], *sample.rows[1:]]), header=False)
    names = above = 0
    for first, column, rest in zip(sample.first_row, columns, below, strict=False):
        if first.lower() in MISSING or rest.is_text or rest.is_empty:
            continue
        alike = (
            (rest.is_number and column.format.is_number(first))
            or (rest.is_time and looks_like_time(first))
            or (rest.is_clock and looks_like_clock(first))
        )
        above, names = above + alike, names + (not alike)
    if names and not above:
        return True
    if above and _runs_on(sample.first_row):
        years = all(number in YEARS for number in _whole_numbers(sample.first_row))
        return years or not any(_runs_on(row) for row in sample.rows[1:3])
    # With nothing below, words are a header.
    empty = all(each.is_empty for each in below)
    return empty and not any(c.is_number or c.is_time for c in columns)


def _runs_on(cells: Sequence[str]) -> bool:
    """Whether a row counts: 1990, 1991, 1992 after a name or none."""
    numbers = _whole_numbers(cells)
    return len(numbers) > 2 and {b - a for a, b in pairwise(numbers)} == {1}


def _whole_numbers(cells: Sequence[str]) -> list[int]:
    """Those of the cells that are whole numbers, and not too long for one."""
    return [int(cell) for cell in cells if cell.isdecimal() and len(cell) <= LONGEST_NUMBER]


def counted(names: Sequence[str]) -> bool:
    """Whether names are numbers that run on: V2, V3, V4."""
    found = [_COUNTED.fullmatch(name) for name in names]
    if len(names) < 3 or not all(found):
        return False
    numbers = [int(each[2]) for each in found if each]
    return len({each[1] for each in found if each}) == 1 and {
        b - a for a, b in pairwise(numbers)
    } == {1}


def are_dates(texts: Sequence[str]) -> bool:
    """Whether these are times and not numbers of rows: 2020-01, 2020-02, or 1990, 1991."""
    try:
        return len(texts) > 2 and read_times(texts, str).kind != "rows"
    except DataError:
        return False


def asked_column(
    wanted: str | int, columns: Sequence[SeriesColumn], place: str, setting: str
) -> int:
    """The column that a person has named, or numbered from 1."""
    names = {column.name.lower(): column.number for column in reversed(columns) if column.name}
    text = str(wanted).strip()
    if isinstance(wanted, str) and text.lower() in names:
        return names[text.lower()]
    if text.isdecimal() and len(text) <= LONGEST_NUMBER:
        if 1 <= int(text) <= len(columns):
            return int(text) - 1
        raise DataError(
            f"{place}: {setting} is column {text}, and there are {len(columns)}; give another"
        )
    if not names:
        raise DataError(
            f"{place}: {setting} is column {text}, and the columns have no names; name them in the"
            " first line, or give the number of the column"
        )
    close = difflib.get_close_matches(text.lower(), names, n=1)
    near = f"did you mean {columns[names[close[0]]].name}?" if close else "check its name"
    known = [column.name for column in columns if column.name]
    listed = ", ".join(known[:8]) + ", …" * (len(known) > 8)
    raise DataError(f"{place}: {setting} is column {text}, and there are {listed}; {near}")
