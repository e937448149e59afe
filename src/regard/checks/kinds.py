"""Recognises what files hold: pairs, text, labelled texts, tagged sentences, images or series."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from regard.data.captions import CAPTION_NAMES
from regard.data.columns import LABEL_NAMES, TEXT_NAMES
from regard.data.image_formats import READ_ENDINGS
from regard.data.lines import check_data_file, kind_of, lines
from regard.data.objects import OBJECTS, objects
from regard.data.pair_files import (
    ARCHIVES,
    MEMORIES,
    PAIR_KINDS,
    TRANSLATIONS,
    grouped,
    language_codes,
)
from regard.data.samples import sampled
from regard.data.series_columns import columns_of as series_columns
from regard.data.series_columns import series_sample, shows_header
from regard.data.spreadsheets import SPREADSHEETS
from regard.data.tables import TABLES

LOOKED_AT = 500
TAGGED = (".conllu", ".conll", ".iob", ".iob2", ".bio")
# A column of labels has at most this share of different values.
FEW_VALUES = 0.2
# In fewer rows, an id need not come again.
LITTLE = 20
# A row with as many numbers is a series.
MANY_NUMBERS = 8
# A column of sentences has spaces in at least this share of its cells.
SENTENCES = 0.5


@dataclass(frozen=True)
class Kind:
    """The flag that files belong to, and why; and the flag of what describes images."""

    flag: str
    reason: str
    companion: str = ""

    @property
    def flags(self) -> str:
        return f"--{self.flag}" + f" and --{self.companion}" * bool(self.companion)

    def files(self, paths: Sequence[Path]) -> dict[str, tuple[Path, ...]]:
        """The files of each flag."""
        if not self.companion:
            return {self.flag: tuple(paths)}
        others = tuple(path for path in paths if not holds_images(path))
        images = tuple(path for path in paths if holds_images(path))
        return {self.flag: images, self.companion: others or images}


def recognise(paths: Sequence[Path]) -> Kind:
    """The kind of some files, by their names and their first lines."""
    if images := [path for path in paths if holds_images(path)]:
        return of_images(images, [path for path in paths if path not in images])
    for path in paths:
        check_data_file(path, PAIR_KINDS)
    first, ending = paths[0], kind_of(paths[0])
    if any(kind_of(path) in TAGGED for path in paths):
        return Kind("tagged", f"{first.name} is named so")
    if ending in MEMORIES:
        return Kind("pairs", "a translation memory")
    if ending in ARCHIVES:
        return Kind("pairs", "an archive of texts")
    if ending in TRANSLATIONS:
        return Kind("pairs", "a translation file")
    if ending in SPREADSHEETS:
        return columns([row for row in sampled(first).rows[:LOOKED_AT] if any(row)])
    if ending in OBJECTS:
        return keys(next((entry for entry, _ in objects(first) if entry is not None), None))
    if words_in_columns([line for line, _ in islice(lines(first), LOOKED_AT)]):
        return Kind("tagged", "a word and its labels on each line, and empty lines in between")
    if ending in TABLES and (reason := series(first)):
        return Kind("series", reason)
    if ending in TABLES:
        return columns([row for row in sampled(first).rows[:LOOKED_AT] if any(row)])
    if len(paths) > 1 and (codes := language_codes(paths)):
        return Kind("pairs", f"files that are named {codes[0]} and {codes[1]}")
    if len(paths) == len(grouped(paths)[0]) == 2 and count(first) == count(paths[1]):
        return Kind("pairs", "two files with the same number of lines")
    return Kind("text", "lines without columns")


def series(path: Path) -> str:
    """Why a table holds series of numbers; "" if it does not."""
    sample = series_sample(path)
    header = shows_header(sample)
    found = series_columns(sample, header)
    numbers = [column for column in found if column.is_number]
    texts = [column for column in found if column.is_text]
    if any(spaced(column.values) for column in texts) or not numbers:
        return ""
    if any(column.is_time for column in found):
        # Texts beside times are ids, which come again.
        ids = all(2 * column.distinct <= len(column.values) for column in texts)
        return "a table of times and numbers" if ids or len(sample.rows) < LITTLE else ""
    if len(numbers) == len(found) or (len(numbers) >= MANY_NUMBERS and len(found) > len(numbers)):
        return "a table of numbers"
    return ""


def holds_images(path: Path) -> bool:
    """Whether this is an archive, or a folder but for one of texts alone."""
    if not path.is_dir():
        return kind_of(path) == ".npz"
    endings = endings_in(path)
    return ".txt" not in endings or any(each in endings for each in READ_ENDINGS)


def endings_in(folder: Path) -> set[str]:
    """The endings of some files of a folder, or of the folders in it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.suffix.lower() for path in islice(files, LOOKED_AT)}


def of_images(images: Sequence[Path], others: Sequence[Path]) -> Kind:
    """Images, and what describes them: a table, a folder of texts, or texts beside the images."""
    first = images[0]
    if not others:
        if first.is_dir() and ".txt" in endings_in(first):
            return Kind("images", "a folder with texts beside the images", "captions")
        return Kind("images", "a folder" if first.is_dir() else "an archive of arrays")
    path = others[0]
    if path.is_dir():
        return Kind("images", f"{path.name} is a folder of texts", "captions")
    check_data_file(path)
    if kind_of(path) == ".json":
        return Kind("images", f"{path.name} is JSON", "captions")
    if kind_of(path) in OBJECTS:
        entry = next((entry for entry, _ in objects(path) if entry is not None), None)
        names = [str(key).lower() for key in entry] if isinstance(entry, dict) else []
        rows: list[list[str]] = []
    else:
        sample = sampled(path)
        names, rows = sample.names, [row for row in sample.rows[:LOOKED_AT] if any(row)]
    for flag, known in (("captions", CAPTION_NAMES), ("labelled", LABEL_NAMES)):
        if name := next((name for name in names if name in known), None):
            return Kind("images", f"{path.name} has a column {name}", flag)
    if any(spaced(column) for column in columns_of(rows)):
        return Kind("images", f"{path.name} has a column of texts", "captions")
    return Kind("images", f"{path.name} has columns of single words", "labelled")


def count(path: Path) -> int:
    return sum(1 for _ in lines(path))


def keys(entry: Any) -> Kind:
    """The kind of a file of JSON by the keys of its first object."""
    if isinstance(entry, str):
        return Kind("text", "strings")
    names = {str(key).lower() for key in entry} if isinstance(entry, dict) else set()
    texts, labels = names.intersection(TEXT_NAMES), names.intersection(LABEL_NAMES)
    if texts and labels - {"target"}:
        return Kind("labelled", f"objects with {min(texts)} and {min(labels)}")
    if texts:
        return Kind("text", f"objects with {min(texts)}")
    return Kind("pairs", f"objects with {', '.join(sorted(names)) or 'no keys'}")


def words_in_columns(first: Sequence[str]) -> bool:
    """Whether there are empty lines, and as many columns without spaces on all the others."""
    blank = sum(not line.strip() for line in first)
    rows = [line.split("\t") if "\t" in line else line.split(" ") for line in first if line.strip()]
    if not blank or len(rows) < 4 or blank > len(rows):
        return False
    width = len(rows[0])
    return (
        width > 1
        and all(len(row) == width for row in rows)
        and not any(" " in cell.strip() for row in rows for cell in row)
    )


def columns(rows: Sequence[Sequence[str]]) -> Kind:
    """The kind of a table: a column of few values beside one of sentences holds labels."""
    table = columns_of(rows)
    if len(table) <= 1:
        return Kind("text", "a table of one column")
    texts = [spaced(column) for column in table]
    few = [1 < len(set(column)) <= max(2, FEW_VALUES * len(rows)) for column in table]
    if any(few) and len(rows) > 10 and any(s and not f for s, f in zip(texts, few, strict=True)):
        return Kind("labelled", "a table with a column of few values, and one of texts")
    return Kind("pairs", f"a table of {len(table)} columns")


def columns_of(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The columns that all rows have."""
    width = min(map(len, rows), default=0)
    return [[row[place].strip() for row in rows] for place in range(width)]


def spaced(column: Sequence[str]) -> bool:
    return sum(" " in cell for cell in column) >= SENTENCES * len(column)
