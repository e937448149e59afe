"""Word's .docx: each paragraph is a segment, in the text, headers, footers and notes.

Word cuts a paragraph into runs anywhere. Runs with the same formatting are merged; what most of a
paragraph has is its usual formatting, and other formatting is a pair of codes. Fields, images,
notes and whatever else is no text are codes that stand alone.
"""

import re

from regard.errors import DataError
from regard.text.documents.content import Edits
from regard.text.documents.document import (
    Document,
    Pieces,
    Translations,
    Wish,
)
from regard.text.documents.docx_runs import WORD, Found, Paragraph, Place
from regard.text.documents.xml import Xml, escaped, read_xml
from regard.text.documents.zipped import Archive

PARTS = re.compile(r"word/(document|header\d*|footer\d*|footnotes|endnotes)\.xml")


def read(name: str, data: bytes, wish: Wish) -> Document:
    archive = Archive(name, data)
    if "word/document.xml" not in archive.members:
        raise DataError(f"{name}: has no word/document.xml, so it is no Word document")
    found = Found()
    files: dict[str, Xml] = {}
    for member in archive.members:
        if PARTS.fullmatch(member):
            files[member] = xml = read_xml(f"{name}:{member}", archive.read(member))
            for paragraph in xml.root.all("p"):
                if paragraph.space in WORD:
                    Paragraph(xml, paragraph).segments(member, found)

    def write(translations: Translations) -> bytes:
        edits = {member: Edits(xml.content.text) for member, xml in files.items()}
        changed = set()
        for number, pieces in translations.items():
            member, place = found.places[number]
            edits[member].add(place.start, place.end, _written(pieces, place))
            changed.add(member)
        return archive.written(
            {member: files[member].content.encode(str(edits[member])) for member in changed}
        )

    return Document(found.segments.found, write)


def _written(pieces: Pieces, place: Place) -> str:
    """Runs for the pieces. Formatting inside other formatting replaces it."""
    result, open_styles = [place.before], [0]
    for piece in pieces:
        if isinstance(piece, str):
            style = place.styles[open_styles[-1]]
            name = style[1:].split(">")[0]
            prefix = name[: name.rindex("r")]
            if piece:
                result.append(f"{style}{_text(piece, prefix)}</{name}>")
        elif piece.number not in place.styles:
            result.append(piece.raw)
        elif piece.kind == "open":
            open_styles.append(piece.number)
        else:
            open_styles.pop()
    return "".join([*result, place.after])


def _text(text: str, prefix: str) -> str:
    return f'<{prefix}t xml:space="preserve">{escaped(text)}</{prefix}t>'
