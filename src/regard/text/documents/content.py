"""The text of a file, which becomes the same bytes again."""

import bisect
import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from regard.errors import DataError

# UTF-32 first: its mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Edit:
    """A place of a text, as offsets, and what is written there instead."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Content:
    """The text of a file, and how it is encoded."""

    name: str
    text: str
    codec: str
    mark: bytes = b""  # a byte order mark

    @classmethod
    def of(cls, name: str, data: bytes, declared: str = "utf-8") -> "Content":
        """Decode a file by its byte order mark, or else as it declares."""
        mark, codec = next(
            (each for each in MARKS if data.startswith(each[0])), (b"", declared or "utf-8")
        )
        try:
            text = data[len(mark) :].decode(codec)
        except LookupError:
            raise DataError(
                f"{name}: declares the encoding {codec!r}, which is unknown; save it as UTF-8"
            ) from None
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, len(mark) + error.start) + 1
            raise DataError(
                f"{name}:{line}: not valid {codec.upper()} (byte "
                f"0x{data[len(mark) + error.start]:02x}); save the file as UTF-8"
            ) from None
        if "\0" in text:
            raise DataError(f"{name}: holds null characters, so it is no text; save it as UTF-8")
        content = cls(name, text, codec, mark)
        if content.encode(text) != data:
            raise DataError(
                f"{name}: its {codec.upper()} cannot be written again as it is; save it as UTF-8"
            )
        return content

    def encode(self, text: str) -> bytes:
        try:
            return self.mark + text.encode(self.codec)
        except UnicodeEncodeError as error:
            raise DataError(
                f"{self.name}: {text[error.start]!r} of a translation cannot be written in "
                f"{self.codec.upper()}; save the file as UTF-8"
            ) from None

    def spliced(self, edits: Iterable[Edit]) -> bytes:
        return self.encode(spliced(self.text, edits))

    def line(self, offset: int) -> int:
        return bisect.bisect_left(self._line_ends, offset) + 1

    @cached_property
    def _line_ends(self) -> list[int]:
        return [found.start() for found in re.finditer("\n", self.text)]

    def wrong(self, offset: int, sentence: str) -> DataError:
        """What to raise where the file is not what it should be."""
        return DataError(f"{self.name}:{self.line(offset)}: {sentence}")

    @property
    def newline(self) -> str:
        """How the file ends its lines."""
        first = self.text.find("\n")
        return "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"


def spliced(text: str, edits: Iterable[Edit]) -> str:
    """The text with these places replaced. They are in order and do not overlap."""
    parts, done = [], 0
    for edit in sorted(edits, key=lambda each: (each.start, each.end)):
        assert edit.start >= done, "places of translations overlap"
        parts += [text[done : edit.start], edit.text]
        done = edit.end
    return "".join([*parts, text[done:]])


class Edits:
    """Edits of a text, of which one may stand inside another: the inner one is made first."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._edits: list[Edit] = []

    def add(self, start: int, end: int, text: str) -> None:
        first, last = self._between(start, end)
        self._edits[first:last] = [Edit(start, end, text)]

    def part(self, start: int, end: int) -> str:
        """A part of the text as it is so far."""
        first, last = self._between(start, end)
        inner = [
            Edit(each.start - start, each.end - start, each.text)
            for each in self._edits[first:last]
        ]
        return spliced(self._text[start:end], inner)

    def _between(self, start: int, end: int) -> tuple[int, int]:
        first = bisect.bisect_left(self._edits, start, key=lambda each: each.start)
        last = bisect.bisect_right(self._edits, end, lo=first, key=lambda each: each.end)
        return first, last

    def __str__(self) -> str:
        return spliced(self._text, self._edits)
