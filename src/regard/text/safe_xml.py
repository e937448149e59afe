"""XML that strangers have written, read as a stream.

Nothing outside the file is opened, entities cannot be declared, and neither depth nor one endless
tag can take memory. expat reads UTF-8, UTF-16 and the one-byte encodings that a file names itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from typing import Protocol
from xml.parsers import expat

from regard.errors import DataError

DEEPEST = 100
LONGEST_TAG_BYTES = 16_000_000
LONGEST_TEXT = 16_000_000  # characters between two tags of interest


class Handler(Protocol):
    """What is told of the tags and the text; `line` and `column` say where the tag stands."""

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None: ...
    def end(self, name: str) -> None: ...
    def text(self, data: str) -> None: ...


def read_xml(
    chunks: Iterable[bytes], where: str, handler: Handler, doctype: str = ""
) -> Iterator[None]:
    """Tell a handler of everything in some XML, and yield after each chunk. A DOCTYPE is refused,
    except one of this name without declarations of its own.
    """
    reader = _Reader(where, handler, doctype)
    for chunk in chunks:
        reader.feed(chunk, last=False)
        yield
    reader.feed(b"", last=True)
    yield


class _Reader:
    def __init__(self, where: str, handler: Handler, doctype: str) -> None:
        self.where, self.handler, self.doctype = where, handler, doctype
        self.depth = self.read = 0
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = handler.text
        parser.StartDoctypeDeclHandler = self.declared
        parser.EntityDeclHandler = self.entity
        # With a DOCTYPE, expat leaves out names that it does not know, such as &nbsp;.
        parser.SkippedEntityHandler = lambda name, _: handler.text(unescape(f"&{name};"))

    def feed(self, chunk: bytes, last: bool) -> None:
        self.read += len(chunk)
        try:
            self.parser.Parse(chunk, last)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            cut = last or what in ("no element found", "unclosed token")
            way = "it seems to be cut off; make or fetch it again" if cut else "export it again"
            raise DataError(
                f"{self.where}:{error.lineno}: not valid XML ({what}, column {error.offset + 1});"
                f" {way}"
            ) from None
        except (LookupError, ValueError) as error:
            raise DataError(
                f"{self.where}:1: the encoding that the file names is not known ({error});"
                " export it as UTF-8"
            ) from None
        if self.read - self.parser.CurrentByteIndex > LONGEST_TAG_BYTES:
            raise self.refused("a tag that does not end within 16 MB")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.refused(f"tags within tags, more than {DEEPEST} deep")
        self.handler.start(name.rpartition(":")[2], attributes, self.parser.CurrentLineNumber)

    def end(self, name: str) -> None:
        self.depth -= 1
        self.handler.end(name.rpartition(":")[2])

    def declared(self, name: str, system: str | None, public: str | None, inner: int) -> None:
        if name != self.doctype or inner:
            raise self.refused(f"a DOCTYPE {name}" + " with declarations" * bool(inner))

    def entity(self, name: str, *_: object) -> None:
        raise self.refused(f"an entity, {name!r}, of its own")

    def refused(self, what: str) -> DataError:
        return DataError(
            f"{self.where}:{self.parser.CurrentLineNumber}: {what}, which such a file does not"
            " need and which can do harm; export it again"
        )
