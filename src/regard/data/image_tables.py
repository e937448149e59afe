"""Tables and JSON lines that say something of images: their labels, or captions.

A row names an image in a column `file`, `image`, `file_name` and the like, or by its number in a
.npz file in the column `index`. The column is found by what it holds: names of images that there
are. A column `split` may say what an image is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from regard.data.columns import LABEL_NAMES, by_name, chosen, has_header, layout_of
from regard.data.image_files import MOST_SHOWN, SPLIT_NAMES, ImageFile, ImageList, several
from regard.data.image_names import ImageNames
from regard.data.lines import check_file, kind_of
from regard.data.objects import OBJECTS, objects
from regard.data.samples import Sample, sampled, sampled_at
from regard.data.tables import rows_of
from regard.errors import DataError, shown

FILE_NAMES = (
    *("file", "image", "file_name", "filename", "filepath", "image_path", "path", "img"),
    *("image_name", "image_id", "name", "id"),
)
INDEX = "index"
SPLIT_COLUMNS = ("split", "subset", "partition")
# Rows that show which column names images.
LOOKED_AT = 200

_NUMBERED = re.compile(r"(.+)#\d+")


@dataclass(frozen=True, slots=True)
class ImageRow:
    """What one row says of an image."""

    name: str
    image: int | None  # its number; None if there is no such image
    values: tuple[str, ...]  # its label, or its captions
    split: str  # "" if the table does not say
    place: str


@dataclass(frozen=True)
class Wanted:
    """What a table is read for."""

    what: str  # "label" or "caption"
    names: Sequence[str]  # of its column
    asked: str | int = ""  # the column that a person has named or numbered
    remarks: list[str] = field(default_factory=list)  # on columns that had to be chosen


def labelled(images: ImageList, table: Path, label: str | int = "") -> ImageList:
    """The images that a table names, with its labels, and its splits if it has any. `label` names
    or numbers the column.
    """
    labels, splits = [""] * len(images), [""] * len(images)
    places: dict[int, str] = {}
    missing: list[str] = []
    wanted = Wanted("label", LABEL_NAMES, label)
    for row in image_rows(table, ImageNames(images), wanted):
        if row.image is None:
            missing.append(row.name)
            continue
        told = row.values[0].strip()
        if not told:
            raise DataError(f"{row.place}: the label is empty; write one, or remove the line")
        if row.image in places and (labels[row.image], splits[row.image]) != (told, row.split):
            raise DataError(
                f"{row.place}: {images.names[row.image]} is {shown(told)} here and "
                f"{shown(labels[row.image])} in {places[row.image]}; give an image one label"
            )
        labels[row.image], splits[row.image], places[row.image] = told, row.split, row.place
    check_found(table, images, len(places), missing)
    remarks = [*images.remarks]
    if missing:
        remarks.append(f"{table}: {several(missing, 'name')} without an image")
    if left := [name for at, name in enumerate(images.names) if at not in places]:
        remarks.append(f"{table}: {several(left, 'image')} without a label: left out")
    kept, known = sorted(places), splits if any(splits) else images.splits
    return replace(
        images.subset(kept),
        labels=[labels[each] for each in kept],
        splits=[known[each] for each in kept] if known else [],
        remarks=remarks,
    )


def check_found(table: Path, images: ImageList, found: int, missing: Sequence[str]) -> None:
    """Refuse a table that names none of the images."""
    if found:
        return
    if not missing:
        raise DataError(f"{table}: there is no row in the table; name an image in each")
    raise DataError(
        f"{table}: none of its images is there: it has {', '.join(missing[:MOST_SHOWN])}, and the "
        f"first image is {images.names[0]}"
    )


def image_rows(path: Path, names: ImageNames, wanted: Wanted) -> Iterator[ImageRow]:
    """The rows of a table, or of JSON lines, each with the number of its image."""
    check_file(path)
    if kind_of(path) in OBJECTS:
        for entry, place in objects(path):
            if entry is not None:
                yield object_row(entry, place, names, wanted)
        return
    sample = _sample(path)
    header = has_header(sample, (*FILE_NAMES, INDEX, *wanted.names), (wanted.asked,))
    file_at, by_index = _file_column(sample, header, names)
    value_at = _value_column(sample, header, wanted, file_at)
    split_at = by_name(sample, SPLIT_COLUMNS, None) if header else None
    layout = layout_of(sample, header, (file_at, value_at), ("file", wanted.what), "")
    needed = max(file_at, value_at, -1 if split_at is None else split_at) + 1
    for cells, place in rows_of(path, layout):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) < needed:
            raise DataError(
                f"{place}: {len(cells)} columns, but column {needed} is read; write the image and "
                f"its {wanted.what} on each line"
            )
        name = cells[file_at].strip()
        image = names.at(name, place) if by_index else found_image(name, place, names)
        split = "" if split_at is None else told_split(cells[split_at])
        yield ImageRow(name, image, (cells[value_at],), split, place)


def found_image(name: str, place: str, names: ImageNames) -> int | None:
    """The image of a name, which may have the number of a caption: a.jpg#0."""
    found = names.find(name, place)
    if found is None and (numbered := _NUMBERED.fullmatch(name)):
        return names.find(numbered[1], place)
    return found


def told_split(text: str) -> str:
    """train, valid or test by any of their names; another name as it is."""
    return SPLIT_NAMES.get(text.strip().lower(), text.strip())


def object_row(entry: Any, place: str, names: ImageNames, wanted: Wanted) -> ImageRow:
    """A row of an object, as of {"file_name": "a.jpg", "text": "a dog"}."""
    has = entry if isinstance(entry, dict) else {}
    file_key = next((key for key in (*FILE_NAMES, INDEX) if key in has), "")
    known = (str(wanted.asked),) if wanted.asked else wanted.names
    value_key = next((key for key in known if key in has and key != file_key), "")
    if not file_key or not value_key:
        raise DataError(
            f"{place}: an image and its {wanted.what} are wanted, not {shown(entry)}; write "
            f'{{"file": "a.jpg", "{wanted.what}": "…"}}'
        )
    values = has[value_key] if isinstance(has[value_key], list) else [has[value_key]]
    texts = [each["raw"] if isinstance(each, dict) and "raw" in each else each for each in values]
    if not texts or any(type(each) not in (str, int) for each in texts):
        raise DataError(f'{place}: "{value_key}" is {shown(has[value_key])}; give a text in quotes')
    name = str(has[file_key])
    image = names.at(name, place) if file_key == INDEX else found_image(name, place, names)
    split = next((has[key] for key in SPLIT_COLUMNS if key in has), "")
    return ImageRow(name, image, tuple(map(str, texts)), told_split(str(split)), place)


def _sample(path: Path) -> Sample:
    """The first rows, also of a .txt with commas or bars."""
    sample = sampled(path)
    if sample.width == 1 and sample.rows:
        for delimiter in ",;|":
            if delimiter in sample.rows[0][0]:
                return sampled_at(path, delimiter)
    return sample


def _file_column(sample: Sample, header: bool, names: ImageNames) -> tuple[int, bool]:
    """The column that names images, and whether it does so by numbers."""
    hits = [0] * sample.width
    rows = list(islice((row for row in sample.rows[header:] if any(row)), LOOKED_AT))
    for row in rows:
        for at, cell in enumerate(row[: sample.width]):
            hits[at] += _likeness(cell.strip(), names)
    if max(hits) > 0:
        return hits.index(max(hits)), False
    archived = not isinstance(names.images.entries[0], ImageFile)
    if archived and header and INDEX in sample.names:
        return sample.names.index(INDEX), True
    named = by_name(sample, FILE_NAMES, None) if header else 0
    if named is None:
        raise DataError(
            f"{sample.path}:1: no column of images among {', '.join(sample.names)}; name it file"
        )
    return named, False


def _likeness(text: str, names: ImageNames) -> int:
    """2 for the name of an image, 1 for a name that can mean one."""
    try:
        return 2 * (text in names.exact) or int(found_image(text, "", names) is not None)
    except DataError:
        return 0


def _value_column(sample: Sample, header: bool, wanted: Wanted, file_at: int) -> int:
    if wanted.asked:
        return chosen(sample, wanted.asked, wanted.what, header)
    named = by_name(sample, wanted.names, file_at) if header else None
    if named is not None:
        return named
    others = [each for each in sample.columns(header) if each.number != file_at]
    if header:
        others = [each for each in others if sample.names[each.number] not in SPLIT_COLUMNS]
    if len(others) == 1:
        return others[0].number
    if others and wanted.what == "caption":
        longest = max(others, key=lambda each: each.length).number
        column = f"'{sample.names[longest]}'" if header else longest + 1
        wanted.remarks.append(
            f"{sample.path}: captions are read from column {column}, which has the longest texts; "
            "set data.caption to read another"
        )
        return longest
    held = ", ".join(sample.names) if header else f"{sample.width} columns"
    raise DataError(
        f"{sample.path}:1: no column '{wanted.what}' among {held}; give the {wanted.what}s' column "
        "that name in the first line"
    )
