"""Android's strings.xml."""

import re
from collections.abc import Iterator

from regard.errors import DataError
from regard.text.documents.content import Edit
from regard.text.documents.document import (
    Code,
    Document,
    Piece,
    Pieces,
    Segments,
    Translations,
    Wish,
    has_words,
    words_of,
)
from regard.text.documents.plurals import quantities
from regard.text.documents.xliff import inline
from regard.text.documents.xml import Element, escaped, read_xml

# Elements of HTML that a string may have; any other element is kept with what is in it.
FORMATTING = frozenset(
    [
        "a",
        "annotation",
        "b",
        "big",
        "del",
        "em",
        "font",
        "i",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "tt",
        "u",
    ]
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[\s\S])")
_NAMES = {"n": "\n", "t": "\t"}


def read(name: str, data: bytes, wish: Wish) -> Document:
    xml = read_xml(name, data)
    if xml.root.name != "resources":
        raise DataError(
            f"{name}: is <{xml.root.name}>, not <resources>; of .xml files, Android's strings can "
            "be translated"
        )
    segments = Segments()
    places: list[Element] = []
    plurals: list[tuple[Element, int]] = []
    for element, key in _strings(xml.root):
        pieces = _read_text(inline(xml, element, FORMATTING))
        text = words_of(pieces)
        if not has_words(text) or text.startswith(("@string/", "?")):
            continue
        number = segments.add(pieces, xml.content.line(element.start), key, syntaxes=["printf"])
        places.append(element)
        if element.attribute("quantity") == "other":
            plurals.append((element, number))
    known = {segment.key for segment in segments.found}
    missing = [
        (element, number, quantity)
        for element, number in plurals
        for quantity in (quantities(wish.target) if wish.target else ())
        if _key_of(segments.found[number].key, quantity) not in known
    ]

    def write(translations: Translations) -> bytes:
        text = xml.content.text
        edits = []
        for number, pieces in translations.items():
            element = places[number]
            edits.append(Edit(element.inside, element.outside, _written(pieces)))
        for element, number, quantity in missing:
            if number in translations:
                before = text[: element.start]
                space = before[len(before.rstrip()) :]
                opening = text[element.start : element.inside].replace("other", quantity)
                closing = text[element.outside : element.end]
                new = f"{opening}{_written(translations[number])}{closing}{space}"
                edits.append(Edit(element.start, element.start, new))
        return xml.content.spliced(edits)

    return Document(segments.found, write)


def _key_of(key: str, quantity: str) -> str:
    return f"{key.rpartition(chr(5))[0]}\5{quantity}"


def _strings(root: Element) -> Iterator[tuple[Element, str]]:
    """What holds a text, with its key."""
    for element in root.elements:
        if element.attribute("translatable") == "false":
            continue
        name = f"{element.name}\5{element.attribute('name')}"
        if element.name == "string":
            yield element, name
        elif element.name in ("string-array", "plurals"):
            for number, item in enumerate(element.elements):
                if item.name == "item":
                    yield item, f"{name}\5{item.attribute('quantity') or number}"


def _read_text(pieces: Pieces) -> Pieces:
    """Without escapes and the white space that Android leaves out."""
    found: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Code):
            found.append(piece)
            continue
        parts = re.split(r'((?<!\\)"(?:[^"\\]|\\.)*")', piece)
        kept = [
            part[1:-1] if at % 2 else re.sub(r"(?<!\\)\s+", " ", part)
            for at, part in enumerate(parts)
        ]
        found.append(_ESCAPE.sub(_unescaped, "".join(kept)))
    return tuple(found)


def _unescaped(found: re.Match[str]) -> str:
    name = found[1]
    if name[0] == "u" and len(name) == 5:
        return chr(int(name[1:], 16))
    return _NAMES.get(name, name)


def _written(pieces: Pieces) -> str:
    parts = []
    for number, piece in enumerate(pieces):
        if isinstance(piece, Code):
            parts.append(piece.raw)
            continue
        text = piece.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"')
        text = text.replace("\n", "\\n").replace("\t", "\\t")
        if number == 0 and text[:1] in ("@", "?"):
            text = "\\" + text
        parts.append(escaped(text))
    return "".join(parts)
