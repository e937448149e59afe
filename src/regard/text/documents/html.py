"""HTML: a segment is what stands between two tags that begin a new line on the page.

Inline tags are codes of the segment. Everything else stays, character for character.
"""

import re
from collections.abc import Callable, Sequence
from html import escape, unescape

from regard.text.documents.content import Content, Edits
from regard.text.documents.document import (
    Code,
    Document,
    Part,
    Pieces,
    Segments,
    Translations,
    Wish,
    core,
    has_words,
    joined,
    text_parts,
    words_of,
)
from regard.text.documents.tags import Token, scan_html

ATTRIBUTES = frozenset({"alt", "aria-label", "placeholder", "title"})
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)\s*=\s*("[^"]*"|'[^']*')""")
_SPACE = re.compile(r"\s+")
_META = re.compile(r"""<meta\b[^>]*\bname\s*=\s*["']?(description|og:title|og:description)\b""")
Write = Callable[[Pieces, Edits], str]


def read(name: str, data: bytes, wish: Wish) -> Document:
    content = Content.of(name, data)
    reader = Reader(content, scan_html(content.text))

    def write(translations: Translations) -> bytes:
        edits = Edits(content.text)
        inner_first = sorted(
            translations, key=lambda number: reader.places[number][1] - reader.places[number][0]
        )
        for number in inner_first:
            start, end, written = reader.places[number]
            edits.add(start, end, written(translations[number], edits))
        if translations and wish.target and reader.language:
            edits.add(*reader.language, escape(wish.target))
        return content.encode(str(edits))

    return Document(reader.segments.found, write)


class Reader:
    """Goes through the tokens and makes segments of what is between blocks, each with its place,
    and segments of attributes that are shown to readers.
    """

    def __init__(
        self, content: Content, tokens: Sequence[Token], with_attributes: bool = True
    ) -> None:
        self.content = content
        self.segments = Segments()
        self.places: list[tuple[int, int, Write]] = []
        self.language: tuple[int, int] | None = None
        self._parts: list[Part] = []
        self._open: list[tuple[str, int]] = []  # inline tags with their numbers
        self._number = 0
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if with_attributes and token.kind in ("open", "alone"):
                self._attributes(token)
            if token.is_kept:
                after = _after(tokens, at)
                if token.is_inline:  # the name of a function is a word of its sentence
                    end = tokens[after - 1].end
                    shown = self.content.text[token.start : end]
                    self._code("alone", token.start, end, shown=_SPACE.sub(" ", shown))
                else:
                    self._flush()
                at = after
                continue
            self._take(token)
            at += 1
        self._flush()

    def _take(self, token: Token) -> None:
        if token.kind == "text":
            raw = self.content.text[token.start : token.end]
            self._parts += text_parts(raw, token.start, unescape)
        elif token.kind == "other":
            self._code("alone", token.start, token.end)
        elif not token.is_inline:
            self._flush()
        elif token.kind == "open":
            self._code("open", token.start, token.end)
            self._open.append((token.tag, self._number))
        elif token.kind == "close" and self._open and self._open[-1][0] == token.tag:
            self._code("close", token.start, token.end, self._open.pop()[1])
        else:
            self._code("alone", token.start, token.end)

    def _code(self, kind: str, start: int, end: int, number: int = 0, shown: str = "") -> None:
        if not number:
            self._number += 1
            number = self._number
        code = Code(kind, f"{start}:{end}", number, shown)  # type: ignore[arg-type]
        self._parts.append(Part(code, start, end))

    def _flush(self) -> None:
        """The inline content up to here is a segment."""
        parts = core(self._parts)
        self._parts, self._open = [], []
        if not parts:
            return
        start, end = parts[0].start, parts[-1].end
        self.segments.add(joined(each.piece for each in parts), self.content.line(start))
        self.places.append((start, end, _as_html))

    def _attributes(self, token: Token) -> None:
        text = self.content.text[token.start : token.end]
        wanted = ATTRIBUTES | ({"content"} if _META.match(text) else set())
        for found in _ATTRIBUTE.finditer(text):
            name, start, end = found[1].lower(), found.start(2) + 1, found.end(2) - 1
            value = unescape(text[start:end])
            if name == "lang" and token.tag == "html":
                self.language = (token.start + start, token.start + end)
            elif name in wanted and has_words(value):
                self.segments.add([value], self.content.line(token.start + start))
                place = (token.start + start, token.start + end, _as_attribute)
                self.places.append(place)


def _as_html(pieces: Pieces, edits: Edits) -> str:
    return "".join(
        escape(each, quote=False).replace("\xa0", "&nbsp;")
        if isinstance(each, str)
        else edits.part(*map(int, each.raw.split(":")))
        for each in pieces
    )


def _as_attribute(pieces: Pieces, edits: Edits) -> str:
    return escape(words_of(pieces))


def _after(tokens: Sequence[Token], at: int) -> int:
    """The number of the token after an element."""
    depth, tag = 0, tokens[at].tag
    for number in range(at, len(tokens)):
        if tokens[number].tag == tag:
            depth += {"open": 1, "close": -1}.get(tokens[number].kind, 0)
            if depth <= 0:
                return number + 1
    return len(tokens)
