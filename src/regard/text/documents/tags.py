"""The tags and texts of HTML and XML, each with what it is for the sentences around it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from itertools import pairwise
from typing import Literal

from regard.text import protect
from regard.text.protect import VOID

INLINE = protect.INLINE - {"br", "rb", "rp", "rt", "ruby"} | {"data"}
# What is inside is no text; the second ones may stand in a sentence.
UNTRANSLATED = frozenset(["pre", "script", "style", "template", "textarea"])
UNTRANSLATED_INLINE = frozenset(["code", "kbd", "math", "samp", "svg", "var"])
ALONE = frozenset({"img", "wbr"})

Kind = Literal["text", "open", "close", "alone", "other"]


@dataclass(frozen=True)
class Tags:
    """What tags with these names are, whatever they are otherwise: what is inside `ignored` ones
    stays, `splitting` ones end a sentence, and `joining` ones stand in it. Without `outline`, no
    other tags of XML end one.
    """

    ignored: frozenset[str] = frozenset()
    splitting: frozenset[str] = frozenset()
    joining: frozenset[str] = frozenset()
    outline: bool = True


NO_TAGS = Tags()


@dataclass(frozen=True)
class Token:
    """A text or a tag. `is_inline` says that the tag stands in a sentence, `is_kept` that what is
    inside stays as it is.
    """

    kind: Kind
    tag: str
    start: int
    end: int
    is_inline: bool = True
    is_kept: bool = False


def scan_html(text: str, tags: Tags = NO_TAGS) -> list[Token]:
    """The tags and texts of a page; together they are all of it."""
    scanner = _Scanner(text)
    tokens: list[Token] = []
    places: list[tuple[Kind, str, int, bool]] = [*scanner.found, ("text", "", len(text), False)]
    for (kind, tag, start, kept), (_, _, end, _) in pairwise(places):
        if kind == "text" and tokens and tokens[-1].kind == "text":
            # An entity is a token of its own, but belongs to the text around it.
            tokens[-1] = Token("text", "", tokens[-1].start, end)
            continue
        skipped = tag in UNTRANSLATED | UNTRANSLATED_INLINE | tags.ignored or kept
        is_kept = kind == "open" and skipped and tag not in VOID
        usual = kind in ("text", "other") or tag in INLINE | ALONE | tags.ignored
        usual = usual or (is_kept and tag in UNTRANSLATED_INLINE)
        inline = tag not in tags.splitting and (usual or tag in tags.joining)
        tokens.append(Token(kind, tag, start, end, inline, is_kept))
    return tokens


class _Scanner(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[Kind, str, int, bool]] = []
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

    def _add(self, kind: Kind, tag: str, kept: bool = False) -> None:
        line, column = self.getpos()
        self.found.append((kind, tag, self._lines[line - 1] + column, kept))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("alone" if tag in VOID else "open", tag, _is_kept(attrs))

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


def _is_kept(attributes: list[tuple[str, str | None]]) -> bool:
    return any(
        (name, value) == ("translate", "no")
        or (name == "class" and "notranslate" in (value or "").split())
        for name, value in attributes
    )


# A value has no `<`, so that a search for the end of a tag never goes beyond the next one.
_XML_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>[^\W\d][\w:.-]*+)(?:\s(?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+|/)?>"
)
# What begins with the first ends with the second, and is neither tag nor text.
_XML_OTHERS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>", "<!": ">"}


def scan_xml(text: str, tags: Tags = NO_TAGS) -> list[Token]:
    """The tags and texts of XML; together they are all of it. What is no tag is text."""
    tokens: list[Token] = []
    done = 0
    for token in _xml_tags(text):
        if done < token.start:
            tokens.append(Token("text", "", done, token.start))
        tokens.append(token)
        done = token.end
    if done < len(text):
        tokens.append(Token("text", "", done, len(text)))
    splitting = _outline(tokens, text) if tags.outline else set()
    return [
        replace(
            token,
            is_inline=token.tag not in tags.splitting
            and (token.tag in tags.joining or at not in splitting),
            is_kept=token.kind == "open" and token.tag in tags.ignored,
        )
        if token.tag
        else token
        for at, token in enumerate(tokens)
    ]


def _xml_tags(text: str) -> Iterator[Token]:
    last = {end: text.rfind(end) for end in _XML_OTHERS.values()}
    at = text.find("<")
    while at >= 0:
        end = next((end for begin, end in _XML_OTHERS.items() if text.startswith(begin, at)), "")
        stop = 0
        if end and at < last[end]:
            stop = text.index(end, at) + len(end)
            yield Token("other", "", at, stop)
        elif not end and (found := _XML_TAG.match(text, at)):
            stop = found.end()
            kind: Kind = "close" if found["end"] else "open"
            yield Token("alone" if text[stop - 2] == "/" else kind, found["name"], at, stop)
        at = text.find("<", stop or at + 1)


def _outline(tokens: Sequence[Token], text: str) -> set[int]:
    """The numbers of the tags that end a sentence: those of elements beside which there is no
    text, in the element that they are in.
    """
    found: set[int] = set()
    # Of each element that is open: its name, its tags, and whether there is text in it.
    open_tags: list[tuple[str, list[int], bool]] = [("", [], False)]
    names: Counter[str] = Counter()

    def close() -> None:
        name, inner, has_text = open_tags.pop()
        names[name] -= 1
        if not has_text:
            found.update(inner)

    for at, token in enumerate(tokens):
        name, inner, has_text = open_tags[-1]
        if token.kind == "text":
            has_words = any(map(str.isalnum, text[token.start : token.end]))
            open_tags[-1] = (name, inner, has_text or has_words)
        elif token.kind in ("open", "alone"):
            inner.append(at)
            if token.kind == "open":
                open_tags.append((token.tag, [], False))
                names[token.tag] += 1
        elif token.kind == "close" and names[token.tag] > 0:
            while open_tags[-1][0] != token.tag:
                close()
            close()
            open_tags[-1][1].append(at)
    while open_tags:
        close()
    return found
