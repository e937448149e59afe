"""Excel's .xlsx: in each sheet, one column is translated, in its place or into another column."""

import re
from dataclasses import dataclass

from regard.errors import DataError
from regard.text.documents.columns import choose, unknown
from regard.text.documents.content import Edits
from regard.text.documents.document import (
    Document,
    Segments,
    Translations,
    Wish,
    has_words,
    words_of,
)
from regard.text.documents.xml import Element, Xml, escaped, read_xml
from regard.text.documents.zipped import Archive

SHEETS = re.compile(r"xl/worksheets/sheet\d+\.xml")
STRINGS = "xl/sharedStrings.xml"
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")


@dataclass
class Place:
    """Where a translation goes: a cell that is there, or the place of one that is not."""

    member: str
    start: int
    end: int
    reference: str
    style: str
    prefix: str


def read(name: str, data: bytes, wish: Wish) -> Document:
    archive = Archive(name, data)
    if "xl/workbook.xml" not in archive.members:
        raise DataError(f"{name}: has no xl/workbook.xml, so it is no Excel workbook")
    strings: list[str] = []
    if STRINGS in archive.members:
        shared = read_xml(f"{name}:{STRINGS}", archive.read(STRINGS))
        strings = [_text(each) for each in shared.root.elements if each.name == "si"]
    segments = Segments()
    places: list[Place] = []
    files: dict[str, Xml] = {}
    header: list[str] = []
    found_columns = False
    for member in sorted(filter(SHEETS.fullmatch, archive.members)):
        files[member] = xml = read_xml(f"{name}:{member}", archive.read(member))
        rows = [_cells(row) for row in xml.root.all("row")]
        if not rows or not rows[0]:
            continue
        header = _header(rows[0], strings)
        columns = choose(name, header, wish)
        if columns is None:
            continue
        found_columns = True
        for row in rows[1:]:
            source, target = row.get(columns.source), row.get(columns.target)
            text = _value(source, strings) if source is not None else ""
            if source is None or not has_words(text):
                continue
            is_own = columns.source == columns.target
            there = target is not None and (
                bool(_value(target, strings).strip()) or target.child("f") is not None
            )
            number = source.attribute("r").lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
            segments.add([text], int(number or 0), finished=there and not is_own)
            places.append(_place(xml, member, row, columns.target, number))
    if files and header and not found_columns:
        raise unknown(name, header)

    def write(translations: Translations) -> bytes:
        edits = {member: Edits(xml.content.text) for member, xml in files.items()}
        for number, pieces in translations.items():
            place = places[number]
            cell = _written(place, words_of(pieces))
            edits[place.member].add(place.start, place.end, cell)
        changed = {places[number].member for number in translations}
        return archive.written(
            {member: files[member].content.encode(str(edits[member])) for member in changed}
        )

    return Document(segments.found, write)


def _text(element: Element) -> str:
    """The text of a string, without how it is read aloud."""
    parts = []
    for each in element.elements:
        if each.name == "t":
            parts.append(each.text)
        elif each.name == "r":
            parts += [inner.text for inner in each.elements if inner.name == "t"]
    return "".join(parts)


def _cells(row: Element) -> dict[int, Element]:
    """The cells of a row by their columns."""
    found: dict[int, Element] = {}
    column = -1
    for cell in row.elements:
        if cell.name != "c":
            continue
        reference = _REFERENCE.fullmatch(cell.attribute("r"))
        column = _number(reference[1]) if reference else column + 1
        found[column] = cell
    return found


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _letters(number: int) -> str:
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _header(row: dict[int, Element], strings: list[str]) -> list[str]:
    return [_value(row[column], strings) if column in row else "" for column in range(max(row) + 1)]


def _value(cell: Element, strings: list[str]) -> str:
    """The text of a cell; "" of a number or a formula."""
    value, kind = cell.child("v"), cell.attribute("t")
    if kind == "inlineStr" and (inner := cell.child("is")) is not None:
        return _text(inner)
    if kind != "s" or value is None or cell.child("f") is not None:
        return ""
    at = int(value.text) if value.text.strip().isdigit() else -1
    return strings[at] if 0 <= at < len(strings) else ""


def _place(xml: Xml, member: str, row: dict[int, Element], column: int, number: str) -> Place:
    any_cell = next(iter(row.values()))
    tag = xml.content.text[any_cell.start : any_cell.inside]
    prefix = tag[1 : re.search(r"c[\s/>]", tag).start()]  # type: ignore[union-attr]
    reference = f"{_letters(column)}{number}"
    if column in row:
        cell = row[column]
        return Place(member, cell.start, cell.end, reference, cell.attribute("s"), prefix)
    before = [each for each in row if each < column]
    at = row[max(before)].end if before else min(each.start for each in row.values())
    return Place(member, at, at, reference, "", prefix)


def _written(place: Place, text: str) -> str:
    style = f' s="{place.style}"' if place.style else ""
    p = place.prefix
    return (
        f'<{p}c r="{place.reference}"{style} t="inlineStr"><{p}is><{p}t xml:space="preserve">'
        f"{escaped(text)}</{p}t></{p}is></{p}c>"
    )
