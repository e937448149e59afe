"""Splits HTML into sentences and markup. The markup stays as it is, character for character."""

from html import escape, unescape
from html.parser import HTMLParser

from regard.serve.translation.splitting import Document

UNTRANSLATED_TAGS = frozenset(
    ["code", "kbd", "math", "pre", "samp", "script", "style", "svg", "textarea", "var"]
)
VOID_TAGS = frozenset(
    [
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"),
        *("source", "track", "wbr"),
    ]
)


def split_html(text: str, language: str, ignored: frozenset[str] = frozenset()) -> Document:
    """Split the text between tags into sentences. What is inside an `ignored` tag stays."""
    parser = _Parser(text, ignored)
    document = Document(is_html=True)
    begin, is_text = 0, False
    for start, next_is_text in [*parser.tokens, (len(text), False)]:
        if next_is_text and is_text:
            continue  # an entity is a token of its own, but belongs to the sentence around it
        _add(document, text[begin:start], is_text, language)
        begin, is_text = start, next_is_text
    _add(document, text[begin:], False, language)
    return document


def _add(document: Document, raw: str, is_text: bool, language: str) -> None:
    if not is_text:
        document.parts.append(raw)
        return
    sentences, parts = len(document.sentences), len(document.parts)
    document.add(unescape(raw), language)
    if len(document.sentences) == sentences:
        document.parts[parts:] = [raw]
        return
    for place in range(parts, len(document.parts)):
        part = document.parts[place]
        if isinstance(part, str) and part.strip():
            document.parts[place] = escape(part, quote=False)


class _Parser(HTMLParser):
    """Records where each token starts, and whether it is text to translate."""

    def __init__(self, text: str, ignored: frozenset[str]) -> None:
        super().__init__(convert_charrefs=False)
        self.tokens: list[tuple[int, bool]] = []
        self._ignored = UNTRANSLATED_TAGS | ignored
        self._inside: list[str] = []  # open tags, from the outermost ignored one
        self._lines = [0]
        for line in text.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        end = text.rfind(">") + 1  # no tag ends after it, however often one begins
        try:
            self.feed(text[:end])
            self.close()
        except AssertionError:  # a declaration that the parser does not know
            self._token(is_text=True)
        else:
            if end < len(text):
                self.tokens.append((end, not self._inside))

    def _token(self, is_text: bool) -> None:
        line, column = self.getpos()
        self.tokens.append((self._lines[line - 1] + column, is_text and not self._inside))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._token(is_text=False)
        ignored = tag in self._ignored or ("translate", "no") in attrs
        if (ignored or self._inside) and tag not in VOID_TAGS:
            self._inside.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._token(is_text=False)

    def handle_endtag(self, tag: str) -> None:
        self._token(is_text=False)
        if tag in self._inside:
            while self._inside.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        self._token(is_text=True)

    def handle_entityref(self, name: str) -> None:
        self._token(is_text=True)

    def handle_charref(self, name: str) -> None:
        self._token(is_text=True)

    def handle_comment(self, data: str) -> None:
        self._token(is_text=False)

    def handle_decl(self, decl: str) -> None:
        self._token(is_text=False)

    def unknown_decl(self, data: str) -> None:
        self._token(is_text=False)

    def handle_pi(self, data: str) -> None:
        self._token(is_text=False)
