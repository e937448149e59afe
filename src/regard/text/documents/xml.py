"""XML as elements that know where they stand, so that a file can be changed in places."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from regard.errors import DataError
from regard.text.documents.content import Content

MOST_DEPTH = 200
_DECLARED = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")


@dataclass(slots=True, eq=False)
class Characters:
    """Text between tags, without its escapes."""

    text: str
    start: int
    end: int = 0
    is_cdata: bool = False


@dataclass(slots=True, eq=False)
class Remark:
    """A comment or a processing instruction."""

    start: int
    end: int = 0


@dataclass(slots=True, eq=False)
class Element:
    """`start` to `end` is all of it, `inside` to `outside` what is between its tags."""

    space: str
    name: str
    attributes: dict[str, str]
    start: int
    inside: int = 0
    outside: int = 0
    end: int = 0
    children: "list[Element | Characters | Remark]" = field(default_factory=list)

    @property
    def elements(self) -> "list[Element]":
        return [each for each in self.children if isinstance(each, Element)]

    def all(self, *names: str) -> "Iterator[Element]":
        """Every element inside with one of these names, in the order of the file."""
        waiting = self.elements[::-1]
        while waiting:
            found = waiting.pop()
            if found.name in names:
                yield found
            waiting += found.elements[::-1]

    def child(self, name: str) -> "Element | None":
        return next((each for each in self.elements if each.name == name), None)

    def attribute(self, name: str) -> str:
        """The value of an attribute by its name without a prefix."""
        for full, value in self.attributes.items():
            if full.rpartition(" ")[2] == name:
                return value
        return ""

    @property
    def text(self) -> str:
        """The text inside, that of inner elements included."""
        parts: list[str] = []
        waiting: list[Element | Characters | Remark] = self.children[::-1]
        while waiting:
            found = waiting.pop()
            if isinstance(found, Characters):
                parts.append(found.text)
            elif isinstance(found, Element):
                waiting += found.children[::-1]
        return "".join(parts)


@dataclass
class Xml:
    """A file of XML: its text, and its outermost element, whose offsets are of this text."""

    content: Content
    root: Element


def read_xml(name: str, data: bytes) -> Xml:
    """Read XML. A document type is refused, and so are entities, which it would define."""
    declared = _DECLARED.match(data.lstrip(b"\xef\xbb\xbf"))
    content = Content.of(name, data, declared[1].decode() if declared else "utf-8")
    return Xml(content, _Builder(content).root)


class _Builder:
    """Builds the elements from the events of the parser. Each event ends what was before it."""

    def __init__(self, content: Content) -> None:
        self.content = content
        self._open: list[Element] = [Element("", "", {}, 0)]
        self._last: Element | Characters | Remark | None = None
        self._ended: Element | None = None
        self._cdata: Characters | None = None
        parser = expat.ParserCreate("utf-8", " ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartCdataSectionHandler = self._cdata_start
        parser.EndCdataSectionHandler = self._cdata_end
        parser.CommentHandler = lambda data: self._remark()
        parser.ProcessingInstructionHandler = lambda target, data: self._remark()
        parser.StartDoctypeDeclHandler = self._doctype
        parser.DefaultHandler = lambda data: self._at()
        self._parser = parser
        try:
            parser.Parse(content.text.encode(), True)
        except expat.ExpatError as error:
            raise DataError(
                f"{content.name}:{error.lineno}: not valid XML "
                f"({expat.ErrorString(error.code)}); mend the file"
            ) from None
        self._close(len(content.text.encode()))
        self._to_characters(content.text)
        self.root = self._open[0].elements[0]

    def _at(self) -> int:
        at = self._parser.CurrentByteIndex
        self._close(at)
        return at

    def _close(self, at: int) -> None:
        """What was open until here ends here."""
        if isinstance(self._last, Element):
            self._last.inside = at
        elif self._last is not None and self._cdata is None:
            self._last.end = at
        self._last = None
        if self._ended is not None:
            self._ended.end = at
            self._ended = None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        at = self._at()
        space, _, local = name.rpartition(" ")
        element = Element(space, local, attributes, at)
        self._open[-1].children.append(element)
        self._open.append(element)
        self._last = element
        if len(self._open) > MOST_DEPTH:
            raise self.content.wrong(0, f"elements are nested more than {MOST_DEPTH} deep")

    def _end(self, name: str) -> None:
        at = self._at()
        self._ended = self._open.pop()
        self._ended.outside = at

    def _characters(self, data: str) -> None:
        if self._cdata is not None:
            self._cdata.text += data
            return
        at = self._at()
        before = self._open[-1].children[-1:]
        if before and isinstance(before[0], Characters) and not before[0].is_cdata:
            before[0].text += data
            self._last = before[0]
        else:
            self._last = Characters(data, at)
            self._open[-1].children.append(self._last)

    def _cdata_start(self) -> None:
        self._cdata = Characters("", self._at(), is_cdata=True)
        self._open[-1].children.append(self._cdata)

    def _cdata_end(self) -> None:
        self._last, self._cdata = self._cdata, None

    def _remark(self) -> None:
        self._last = Remark(self._at())
        self._open[-1].children.append(self._last)

    def _doctype(self, *_: Any) -> None:
        raise DataError(
            f"{self.content.name}:{self._parser.CurrentLineNumber}: has a document type "
            "(DOCTYPE), which is refused because it can define entities; remove it"
        )

    def _to_characters(self, text: str) -> None:
        """Make offsets in bytes of UTF-8 offsets in characters."""
        if text.isascii():
            return
        places: list[int] = []
        for number, character in enumerate(text):
            places += [number] * len(character.encode())
        places.append(len(text))
        waiting: list[Element | Characters | Remark] = [*self._open[0].children]
        while waiting:
            each = waiting.pop()
            each.start, each.end = places[each.start], places[each.end]
            if isinstance(each, Element):
                each.inside, each.outside = places[each.inside], places[each.outside]
                waiting += each.children


def escaped(text: str) -> str:
    """Text as XML holds it. Control characters, which it cannot hold, are left out."""
    text = "".join(letter for letter in text if letter >= " " or letter in "\t\n\r")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
