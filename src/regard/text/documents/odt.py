"""LibreOffice's .odt: each paragraph is a segment, in the text, headers, footers and notes.

Spans and links are pairs of codes. A span that looks like the text around it is left out, since
LibreOffice makes one wherever somebody has typed.
"""

from dataclasses import replace

from regard.errors import DataError
from regard.text.documents.content import Edits
from regard.text.documents.document import (
    Code,
    Document,
    Part,
    Pieces,
    Segments,
    Translations,
    Wish,
    core,
    joined,
    text_parts,
)
from regard.text.documents.xml import Characters, Element, Xml, escaped, read_xml
from regard.text.documents.zipped import Archive

MEMBERS = ("content.xml", "styles.xml")
PARAGRAPHS = ("p", "h")
PAIRED = frozenset({"span", "a", "meta", "ruby-base"})
BREAKS = ("line-break", "tab")
# What somebody has deleted, or remarked.
UNTRANSLATED = frozenset({"tracked-changes", "annotation"})
UNSEEN = frozenset({"rsid", "paragraph-rsid", "language", "country"})


def read(name: str, data: bytes, wish: Wish) -> Document:
    archive = Archive(name, data)
    if "content.xml" not in archive.members:
        raise DataError(f"{name}: has no content.xml, so it is no OpenDocument text")
    encrypted = "META-INF/manifest.xml" in archive.members and (
        b"encryption-data" in archive.read("META-INF/manifest.xml")
    )
    if encrypted:
        raise DataError(f"{name}: is encrypted; save it without a password")
    segments = Segments()
    places: list[tuple[str, int, int]] = []
    files: dict[str, Xml] = {}
    for member in MEMBERS:
        if member in archive.members:
            files[member] = xml = read_xml(f"{name}:{member}", archive.read(member))
            plain = _plain_styles(xml)
            for paragraph in _paragraphs(xml.root):
                reader = _Paragraph(xml, plain)
                for parts in reader.stretches(paragraph):
                    segments.add(reader.pieces(parts), xml.content.line(paragraph.start))
                    places.append((member, parts[0].start, parts[-1].end))

    def write(translations: Translations) -> bytes:
        edits = {member: Edits(xml.content.text) for member, xml in files.items()}
        # A note stands inside a paragraph, and is longer than nothing and shorter than that.
        for number in sorted(translations, key=lambda each: places[each][2] - places[each][1]):
            member, start, end = places[number]
            text = _written(translations[number], edits[member])
            edits[member].add(start, end, text)
        changed = {places[number][0] for number in translations}
        return archive.written(
            {member: files[member].content.encode(str(edits[member])) for member in changed}
        )

    return Document(segments.found, write)


def _paragraphs(root: Element) -> list[Element]:
    found, waiting = [], [root]
    while waiting:
        element = waiting.pop()
        if element.name in UNTRANSLATED:
            continue
        if element.name in PARAGRAPHS:
            found.append(element)
        waiting += element.elements[::-1]
    return found


def _plain_styles(xml: Xml) -> set[str]:
    """The styles of text that change nothing that is seen."""
    found = set()
    for style in xml.root.all("style"):
        if style.attribute("family") == "text" and not style.attribute("parent-style-name"):
            names = {name.rpartition(" ")[2] for each in style.elements for name in each.attributes}
            if names <= UNSEEN:
                found.add(style.attribute("name"))
    return found


class _Paragraph:
    def __init__(self, xml: Xml, plain: set[str]) -> None:
        self.text = xml.content.text
        self._plain = plain
        self._parts: list[Part] = []
        self._stretches: list[list[Part]] = []
        self._number = 0
        self._unseen: set[int] = set()  # spans that are left out of a translation

    def pieces(self, parts: list[Part]) -> Pieces:
        return joined(
            part.piece
            for part in parts
            if isinstance(part.piece, str) or part.piece.number not in self._unseen
        )

    def stretches(self, paragraph: Element) -> list[list[Part]]:
        """What is between breaks, without what need not be translated."""
        self._visit(paragraph)
        self._end()
        return self._stretches

    def _end(self) -> None:
        if parts := core(_merged(self._parts, self.text)):
            self._stretches.append(parts)
        self._parts = []

    def _visit(self, element: Element) -> None:
        for each in element.children:
            if isinstance(each, Characters):
                self._parts += (
                    text_parts(each.text, each.start)
                    if (self.text[each.start : each.end] == each.text)
                    else [Part(each.text, each.start, each.end)]
                )
            elif not isinstance(each, Element):
                continue
            elif each.name == "s":
                self._parts.append(Part(" ", each.start, each.end))
            elif each.name in BREAKS:
                self._end()
            elif each.name in PAIRED and next(each.all(*PARAGRAPHS), None) is None:
                self._paired(each)
            elif each.name != "soft-page-break":
                self._code("alone", each.start, each.end)

    def _paired(self, element: Element) -> None:
        if next(element.all(*BREAKS), None) is not None:
            self._end()
            self._visit(element)
            self._end()
        elif not element.text:
            self._code("alone", element.start, element.end)
        else:
            number = self._code("open", element.start, element.inside)
            if element.name == "span" and element.attribute("style-name") in self._plain:
                self._unseen.add(number)
            self._visit(element)
            self._code("close", element.outside, element.end, number)

    def _code(self, kind: str, start: int, end: int, number: int = 0) -> int:
        if not number:
            self._number += 1
            number = self._number
        code = Code(kind, f"{start}:{end}", number)  # type: ignore[arg-type]
        self._parts.append(Part(code, start, end))
        return number


def _merged(parts: list[Part], text: str) -> list[Part]:
    """One pair of codes for neighbours with the same tag."""
    found: list[Part] = []
    same: dict[int, int] = {}  # the number of a pair that goes on
    tags: dict[int, str] = {}
    for part in parts:
        piece = part.piece
        if isinstance(piece, Code):
            piece = replace(piece, number=same.get(piece.number, piece.number))
            part = replace(part, piece=piece)
            if piece.kind == "open":
                tag = text[part.start : part.end]
                last = found[-1].piece if found else ""
                if isinstance(last, Code) and last.kind == "close" and tags[last.number] == tag:
                    same[piece.number] = last.number
                    found.pop()
                    continue
                tags[piece.number] = tag
        found.append(part)
    return found


def _written(pieces: Pieces, edits: Edits) -> str:
    return "".join(
        escaped(each) if isinstance(each, str) else edits.part(*map(int, each.raw.split(":")))
        for each in pieces
    )
