"""Rows of a spreadsheet (.xlsx): a zip with the sheets as XML. The first visible sheet is read."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from regard.data.moses import opened
from regard.errors import DataError
from regard.text.safe_xml import LONGEST_TEXT, read_xml

SPREADSHEETS = (".xlsx",)
MOST_COLUMNS = 16_384
CHUNK = 65_536
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d+)$")
# Excel writes control characters like this: _x000D_ is a carriage return.
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


@dataclass(frozen=True)
class Sheets:
    """The names of the sheets that can be seen, and where the first one is in the file."""

    names: tuple[str, ...]
    first: str


def sheet_rows(path: Path) -> Iterator[tuple[list[str], int]]:
    """The cells of each row that has any, and its number in the sheet."""
    with opened(path) as archive:
        sheet = sheets(path, archive).first
        shared: list[str] = []
        if "xl/sharedStrings.xml" in archive.namelist():
            strings = _Strings()
            for _ in _read(path, archive, "xl/sharedStrings.xml", strings):
                pass
            shared = strings.found
        rows = _Rows(path, shared)
        for _ in _read(path, archive, sheet, rows):
            yield from rows.taken()


def sheet_names(path: Path) -> tuple[str, ...]:
    with opened(path) as archive:
        return sheets(path, archive).names


def sheets(path: Path, archive: zipfile.ZipFile) -> Sheets:
    book, links = _Attributes("sheet"), _Attributes("Relationship")
    for member, handler in (("xl/workbook.xml", book), ("xl/_rels/workbook.xml.rels", links)):
        if member not in archive.namelist():
            raise DataError(f"{path}: no {member} in it, so this is no spreadsheet; save it again")
        for _ in _read(path, archive, member, handler):
            pass
    visible = [each for each in book.found if each.get("state", "visible") == "visible"]
    targets = {each.get("Id", ""): each.get("Target", "") for each in links.found}
    for each in visible or book.found:
        wanted = next((value for key, value in each.items() if key.endswith(":id")), "")
        target = targets.get(wanted, "")
        member = target.lstrip("/") if target.startswith("/") else str(PurePosixPath("xl", target))
        if target and member in archive.namelist():
            return Sheets(tuple(each.get("name", "") for each in visible), member)
    raise DataError(f"{path}: no sheet in it can be found; save it again as .xlsx")


def _read(
    path: Path, archive: zipfile.ZipFile, member: str, handler: _Attributes | _Strings | _Rows
) -> Iterator[None]:
    with archive.open(member) as file:
        yield from read_xml(iter(lambda: file.read(CHUNK), b""), f"{path}/{member}", handler)


@dataclass
class _Attributes:
    """The attributes of all tags of a name."""

    name: str
    found: list[Mapping[str, str]] = field(default_factory=list)

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        if name == self.name:
            self.found.append(attributes)

    def end(self, name: str) -> None:
        pass

    def text(self, data: str) -> None:
        pass


@dataclass
class _Strings:
    """The texts that cells refer to by number; those above Japanese words, how they are spoken,
    are left out.
    """

    found: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    inside: bool = False
    spoken: bool = False

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        if name == "si":
            self.parts = []
        self.spoken = self.spoken or name == "rPh"
        self.inside = name == "t" and not self.spoken

    def end(self, name: str) -> None:
        self.inside = False
        if name == "rPh":
            self.spoken = False
        if name == "si":
            self.found.append(unescaped("".join(self.parts)))

    def text(self, data: str) -> None:
        if self.inside:
            self.parts.append(data)


class _Rows:
    def __init__(self, path: Path, shared: list[str]) -> None:
        self.path, self.shared = path, shared
        self.found: list[tuple[list[str], int]] = []
        self.cells: list[str] = []
        self.row = self.column = self.size = 0
        self.kind = ""
        self.parts: list[str] = []
        self.inside = self.spoken = False

    def taken(self) -> list[tuple[list[str], int]]:
        found, self.found = self.found, []
        return found

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        self.spoken = self.spoken or name == "rPh"
        if name == "row":
            number = attributes.get("r", "")
            self.row = int(number) if number.isdecimal() and len(number) < 9 else self.row + 1
            self.cells, self.column, self.size = [], 0, 0
        elif name == "c":
            named = _REFERENCE.match(attributes.get("r", ""))
            self.column = column_number(named[1]) if named else self.column + 1
            if self.column > MOST_COLUMNS:
                raise DataError(f"{self.path}:{self.row}: more than {MOST_COLUMNS:,} columns")
            self.kind, self.parts = attributes.get("t", "n"), []
        elif name in ("v", "t"):
            self.inside = not self.spoken

    def end(self, name: str) -> None:
        self.inside = False
        if name == "rPh":
            self.spoken = False
        elif name == "c" and (text := self.value("".join(self.parts))):
            self.cells += [""] * (self.column - len(self.cells))
            self.cells[self.column - 1] = text
        elif name == "row" and any(self.cells):
            self.found.append((self.cells, self.row))

    def text(self, data: str) -> None:
        if self.inside:
            self.size += len(data)
            if self.size > LONGEST_TEXT:
                raise DataError(f"{self.path}:{self.row}: a row of more than 16 million characters")
            self.parts.append(data)

    def value(self, text: str) -> str:
        if self.kind == "s":
            if not text.isdecimal() or int(text) >= len(self.shared):
                raise DataError(
                    f"{self.path}:{self.row}: a cell refers to a text that is not there; save the"
                    " file again"
                )
            return self.shared[int(text)]
        return "" if self.kind == "e" else unescaped(text)


def column_number(letters: str) -> int:
    """1 for A, 27 for AA."""
    number = 0
    for each in letters:
        number = 26 * number + ord(each) - ord("A") + 1
    return number


def unescaped(text: str) -> str:
    if "_x" not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
