"""HTML: a segment is what stands between two tags that begin a new line on the page.

Inline tags are codes of the segment. Everything else stays, character for character.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape, unescape
from html.parser import HTMLParser
from itertools import pairwise

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
from regard.text.protect import VOID

INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "label",
        "mark",
        "q",
        "s",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
    ]
)
# What is inside is no text; the second ones may stand in a sentence.
UNTRANSLATED = frozenset(["pre", "script", "style", "template", "textarea"])
UNTRANSLATED_INLINE = frozenset(["code", "kbd", "math", "samp", "svg", "var"])
ALONE = frozenset({"img", "wbr"})
ATTRIBUTES = frozenset({"alt", "aria-label", "placeholder", "title"})
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)\s*=\s*("[^"]*"|'[^']*')""")
_SPACE = re.compile(r"\s+")
_META = re.compile(r"""<meta\b[^>]*\bname\s*=\s*["']?(description|og:title|og:description)\b""")
Write = Callable[[Pieces, Edits], str]


@dataclass(frozen=True)
class Token:
    kind: str  # text, open, close, alone, other
    tag: str
    start: int
    end: int
    is_kept: bool = False  # by translate="no"


def read(name: str, data: bytes, wish: Wish) -> Document:
    content = Content.of(name, data)
    reader = _Reader(content)
    reader.read()

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


class _Reader:
    """Goes through the tokens and makes segments of what is between blocks."""

    def __init__(self, content: Content) -> None:
        self.content = content
        self.segments = Segments()
        self.places: list[tuple[int, int, Write]] = []
        self.language: tuple[int, int] | None = None
        self._parts: list[Part] = []
        self._open: list[tuple[str, int]] = []  # inline tags with their numbers
        self._number = 0

    def read(self) -> None:
        tokens = scan(self.content.text)
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.kind in ("open", "alone"):
                self._attributes(token)
            if token.kind == "open" and _is_skipped(token):
                after = _after(tokens, at)
                inline = token.tag in INLINE | UNTRANSLATED_INLINE
                if inline:  # the name of a function is a word of its sentence
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
        elif token.tag in ALONE or token.kind == "other":
            self._code("alone", token.start, token.end)
        elif token.tag not in INLINE:
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


def _is_skipped(token: Token) -> bool:
    skipped = token.tag in UNTRANSLATED | UNTRANSLATED_INLINE or token.is_kept
    return skipped and token.tag not in VOID


def _after(tokens: list[Token], at: int) -> int:
    """The number of the token after an element."""
    depth, tag = 0, tokens[at].tag
    for number in range(at, len(tokens)):
        if tokens[number].tag == tag:
            depth += {"open": 1, "close": -1}.get(tokens[number].kind, 0)
            if depth <= 0:
                return number + 1
    return len(tokens)


def scan(text: str) -> list[Token]:
    """The tags and texts of a page; together they are all of it."""
    scanner = _Scanner(text)
    places = [*scanner.found, ("end", "", len(text), False)]
    tokens: list[Token] = []
    for (kind, tag, start, kept), (_, _, end, _) in pairwise(places):
        if kind == "text" and tokens and tokens[-1].kind == "text":
            # An entity is a token of its own, but belongs to the text around it.
            tokens[-1] = Token("text", "", tokens[-1].start, end)
        else:
            tokens.append(Token(kind, tag, start, end, kept))
    return tokens


class _Scanner(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[str, str, int, bool]] = []
        self._lines = [0]
        for line in text.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        end = text.rfind(">") + 1  # no tag ends after it, however often one begins
        try:
            self.feed(text[:end])
            self.close()
        except AssertionError:  # a declaration that the parser does not know
            self._add("other", "")
        if end < len(text):
            self.found.append(("text", "", end, False))

    def _add(self, kind: str, tag: str, kept: bool = False) -> None:
        line, column = self.getpos()
        self.found.append((kind, tag, self._lines[line - 1] + column, kept))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("alone" if tag in VOID else "open", tag, ("translate", "no") in attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("alone", tag)

    def handle_endtag(self, tag: str) -> None:
        self._add("close", tag)

    def handle_data(self, data: str) -> None:
        self._add("text", "")

    def handle_entityref(self, name: str) -> None:
        self._add("text", "")

    def handle_charref(self, name: str) -> None:
        self._add("text", "")

    def handle_comment(self, data: str) -> None:
        self._add("other", "")

    def handle_decl(self, decl: str) -> None:
        self._add("other", "")

    def unknown_decl(self, data: str) -> None:
        self._add("other", "")

    def handle_pi(self, data: str) -> None:
        self._add("other", "")
