"""Examples that Python holds: taken from lists, iterators and tables, and written to data files.

Tables are known by what they can do, so no library of tables has to be installed: a dict of lists,
a DataFrame of pandas or polars, an Arrow table, a dataset of Hugging Face.
"""

import filecmp
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.data.columns import LABEL_NAMES, TEXT_NAMES
from regard.errors import DataError, RunError, shown
from regard.files import replacing
from regard.tasks import Column, Entry


@dataclass(frozen=True)
class Given:
    """Data as it was given to a keyword of `regard.train`: names of files, or examples."""

    keyword: str
    data: Any
    columns: tuple[Column, ...]

    @classmethod
    def of(
        cls, keyword: str, data: Any, entry: Entry, languages: tuple[str, str] | None, label: Any
    ) -> "Given":
        """`label` is the column of the labels, where the settings name it."""
        known = {"text": TEXT_NAMES, "label": LABEL_NAMES}
        columns = [
            replace(each, names=(*each.names, *known.get(each.names[0], ())))
            for each in entry.columns
        ]
        for place, column in enumerate(columns):
            if column.holds.startswith("label") and isinstance(label, str) and label:
                columns[place] = replace(column, names=(label,))
            elif languages and len(columns) == 2 and "languages" in entry.options:
                columns[place] = replace(column, names=(*column.names, languages[place]))
        return cls(keyword, data, tuple(columns))

    def files(self) -> tuple[Path, ...] | None:
        """The files, if names of files were given."""
        data = self.data
        if isinstance(data, str | os.PathLike):
            return (Path(data),)
        if not isinstance(data, list | tuple) or not data:
            return None
        if all(isinstance(each, os.PathLike) for each in data):
            return tuple(map(Path, data))
        if not all(isinstance(each, str | os.PathLike) for each in data):
            return None
        if [column.holds for column in self.columns] != ["text"]:
            return tuple(map(Path, data))
        # Texts, unless they are names of files: a file is a Path here.
        for each in data:
            if isinstance(each, os.PathLike) or names_a_file(each):
                raise DataError(
                    f"{self.keyword}: {shown(str(each))} is the name of a file, and a list of "
                    "strings holds texts; write pathlib.Path(…) around the name of each file"
                )
        return None

    def instead_of_files(self) -> str | None:
        """What to do if strings were given that name no files."""
        if isinstance(self.data, str):
            return "a string names a file, so put a text itself in brackets"
        if isinstance(self.data, os.PathLike) or not all(
            isinstance(each, str) for each in self.data
        ):
            return None
        return f"strings name files, so write {self.example()} for each example"

    def rows(self) -> Iterator[dict[str, Any]]:
        """The examples as objects for lines of JSON."""
        columns, number = self.columns, 0
        keys: list[Any] = []
        names: list[list[str] | None] = []
        for number, row in enumerate(self.raw_rows(), start=1):
            place = f"{self.keyword}, example {number}"
            if not columns:
                yield row
                continue
            if isinstance(row, Mapping):
                if set(keys) - row.keys() or not keys:
                    keys = self.keys(list(row), place)
                    names = [class_names(self.data, key) for key in keys]
                row = [named(row[key], each) for key, each in zip(keys, names, strict=True)]
            yield self.object(self.unzipped(row), place)
        if not number:
            raise DataError(f"{self.keyword}: there are no examples in it; give some")

    def raw_rows(self) -> Iterator[Any]:
        data = self.data if self.columns else with_index(self.data)
        names = column_names(data)
        if names is None:
            if isinstance(data, bytes) or not isinstance(data, Iterable):
                raise DataError(
                    f"{self.keyword}: {shown(data)} is no data; give examples like "
                    f"{self.example()} in a list, an iterator or a table, or the names of files"
                )
            yield from map(unwrapped, data)
            return
        # A single column may hold whole examples.
        whole = not self.columns or len(names) == 1
        keys = names if whole else self.keys(names, self.keyword)
        try:
            for values in zip(*(column_of(data, key) for key in keys), strict=True):
                yield unwrapped(dict(zip(keys, values, strict=True)))
        except ValueError:
            raise DataError(
                f"{self.keyword}: the columns {listed(keys)} are not of the same length; "
                "give as many values in each"
            ) from None

    def keys(self, names: list[Any], place: str) -> list[Any]:
        """The columns of a table in the order of an example: by name, or all that there are."""
        by_name = {str(name).lower(): name for name in reversed(names)}
        found = [
            next((by_name[each.lower()] for each in column.names if each.lower() in by_name), None)
            for column in self.columns
        ]
        left = [name for name in names if name not in found]
        missing = found.count(None)
        if missing == len(left):
            return [left.pop(0) if each is None else each for each in found]
        if missing == 0:
            return found
        wanted = [column.names[0] for column in self.columns]
        raise DataError(
            f"{place}: no column {wanted[found.index(None)]!r} among {listed(names)}; rename the "
            f"column that holds it, or give the columns of {listed(wanted)} alone"
        )

    def unzipped(self, row: Any) -> Any:
        """Words and labels of a sentence that has a tuple for each word, as NLTK's corpora have."""
        pairs = isinstance(row, list) and [each.holds for each in self.columns] == [
            *("texts", "labels")
        ]
        if not pairs or not all(isinstance(each, tuple) and len(each) == 2 for each in row):
            return row
        return [list(part) for part in zip(*row, strict=True)]

    def object(self, row: Any, place: str) -> dict[str, Any]:
        columns = self.columns
        if len(columns) == 1 and isinstance(row, str):
            row = [row]
        if isinstance(row, str | bytes) or not hasattr(row, "__len__") or len(row) != len(columns):
            raise DataError(f"{place}: {shown(row)} is not like {self.example()}; write it so")
        found = {
            column.names[0]: checked(value, column, place)
            for column, value in zip(columns, row, strict=True)
        }
        lengths = [len(value) for value in found.values() if isinstance(value, list)]
        if len(set(lengths)) > 1:
            raise DataError(
                f"{place}: {lengths[0]} {columns[0].names[0]} and {lengths[1]} "
                f"{columns[1].names[0]}; give one for each"
            )
        return found

    def example(self) -> str:
        """What an example looks like: ("text", "label")."""
        lists = {"texts": '["…", "…"]', "labels": '["…", "…"]'}
        names = [lists.get(each.holds, f'"{each.names[0]}"') for each in self.columns]
        return f"({', '.join(names)})" if len(names) > 1 else "".join(names) or "objects of JSON"


def names_a_file(text: str) -> bool:
    try:
        return len(text) < 4096 and os.path.isfile(text)
    except ValueError:  # it holds a NUL
        return False


def column_names(data: Any) -> list[Any] | None:
    """The names of a table's columns; None if it is not a table, or one that is read by rows."""
    if isinstance(data, Mapping):
        return list(data)
    if hasattr(data, "features"):  # Hugging Face's, which may be longer than memory
        return None
    names = getattr(data, "column_names", getattr(data, "columns", None))
    return None if names is None or callable(names) else list(names)


def with_index(data: Any) -> Any:
    """A table of pandas with its index as a column, where that holds times or has a name; and a
    single column as a table.
    """
    index: Any = getattr(data, "index", None)
    if hasattr(data, "reset_index") and (
        any(name is not None for name in index.names)
        or type(index).__name__ in ("DatetimeIndex", "PeriodIndex")
    ):
        return data.reset_index()
    is_column = hasattr(data, "to_frame") and not hasattr(data, "columns")
    return data.to_frame() if is_column else data


def column_of(data: Any, key: Any) -> Any:
    values = data[key]
    return values.to_pylist() if hasattr(values, "to_pylist") else values


def class_names(data: Any, key: Any) -> list[str] | None:
    """The names of labels that a dataset of Hugging Face holds as numbers."""
    feature = getattr(data, "features", None) or {}
    feature = feature.get(key) if isinstance(feature, Mapping) else None
    return getattr(getattr(feature, "feature", feature), "names", None)


def named(value: Any, names: list[str] | None) -> Any:
    if names is None:
        return value
    return [named(each, names) for each in value] if isinstance(value, list) else names[value]


def unwrapped(row: Any) -> Any:
    """The row itself, where it is the only value of an object, as in Hugging Face's parallel text:
    {"translation": {"en": "…", "de": "…"}}.
    """
    if isinstance(row, Mapping) and len(row) == 1:
        (inner,) = row.values()
        return inner if isinstance(inner, Mapping) else row
    return row


def checked(value: Any, column: Column, place: str) -> str | list[str]:
    """The value as a file holds it; labels that are whole numbers become texts."""
    name = column.names[0]
    if column.holds == "text":
        return text(value, f"{place}: the {name}")
    if column.holds == "label":
        return label(value, f"{place}: the {name}")
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise DataError(f"{place}: the {name} are {shown(value)}; give a list of them")
    one = text if column.holds == "texts" else label
    found = [one(each, f"{place}: one of the {name}") for each in value]
    if not found:
        raise DataError(f"{place}: there are no {name}; leave the example out")
    return found


def text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        way = "leave such examples out" if is_missing(value) else "give a string"
        raise DataError(f"{what} is {shown(value)}, not a text; {way}")
    return str(value)


def label(value: Any, what: str) -> str:
    if hasattr(value, "item") and callable(value.item) and not getattr(value, "shape", ()):
        value = value.item()  # a number of numpy
    if is_missing(value) or not isinstance(value, str | int) or value == "":
        way = "leave such examples out" if is_missing(value) else "give a text or a whole number"
        raise DataError(f"{what} is {shown(value)}, not a label; {way}")
    return str(value)


def is_missing(value: Any) -> bool:
    """None, and what tables write instead: NaN is the one number that differs from itself."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return not getattr(value, "shape", ()) and bool(value != value)


def plain(value: Any) -> Any:
    """What JSON has no word for, such as a time or a number of numpy."""
    if is_missing(value):
        return None
    if hasattr(value, "isoformat") or type(value).__name__ in ("datetime64", "Period", "Decimal"):
        return str(value)
    if hasattr(value, "item") and not getattr(value, "shape", ()):
        return value.item()
    raise TypeError(f"{shown(value)} is no text and no number")


def listed(names: Iterable[Any]) -> str:
    found = list(map(str, names))
    return ", ".join(found[:8]) + ", …" * (len(found) > 8)


def write(given: Given, path: Path, started: bool) -> None:
    """Write examples to a file with an object of JSON on each line. Those of a run that was started
    must be the same as before.
    """
    with replacing(path) as temporary:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            for number, row in enumerate(given.rows(), start=1):
                try:
                    file.write(json.dumps(row, ensure_ascii=False, default=plain) + "\n")
                except (TypeError, ValueError) as error:  # UnicodeEncodeError is one
                    raise DataError(
                        f"{given.keyword}, example {number}: cannot be written ({error})"
                    ) from None
        if started and not (path.exists() and filecmp.cmp(temporary, path, shallow=False)):
            raise RunError(
                f"{path.parents[2]}: holds a run on other examples than these; choose another out, "
                "or give the same examples to resume it"
            )
