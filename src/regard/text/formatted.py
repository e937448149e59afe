"""A text that is plain, HTML, XML or the segment of a document, as what stays of it and the
sentences to translate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from regard.text.documents.content import Content
from regard.text.documents.document import Pieces, Segment, as_text
from regard.text.documents.html import Reader
from regard.text.documents.sentences import Cut, cut, uncut
from regard.text.documents.tagged import from_json, tagged
from regard.text.documents.tags import NO_TAGS, Tags, scan_html, scan_xml

Format = Literal["text", "html", "xml"]


@dataclass(frozen=True)
class FormattedText:
    """What stays and what is translated in turn; `write` writes what is translated."""

    parts: list[str | Cut]
    write: Callable[[Pieces], str]

    @property
    def sentences(self) -> list[Pieces]:
        """The sentences to translate, in order."""
        return [each for part in self.parts if isinstance(part, Cut) for each in part.sentences]

    def fill(self, translations: Sequence[Pieces], target: str) -> str:
        """The text with its sentences translated, up to the first without a translation."""
        done, written = 0, []
        for part in self.parts:
            if isinstance(part, str):
                written.append(part)
                continue
            count = len(part.sentences)
            known = dict(enumerate(translations[done : done + count]))
            written.append(self.write(part.filled(known, target)))
            if len(known) < count:
                break
            done += count
        return "".join(written)


def plain(text: str, language: str | None) -> FormattedText:
    """A text without a format. Without a language it is one sentence, however long."""
    segment = Segment((text,), 1)
    found = uncut(segment) if language is None else cut(segment, language)
    return FormattedText([found] if text else [], as_text)


def formatted(
    text: str, form: Format, language: str | None = "", tags: Tags = NO_TAGS
) -> FormattedText:
    """Split a text into what stays and sentences."""
    if form == "text":
        return plain(text, language)
    tokens = scan_html(text, tags) if form == "html" else scan_xml(text, tags)
    reader = Reader(Content("", text, "utf-8"), tokens, with_attributes=False)
    parts: list[str | Cut] = []
    done = 0
    for segment, (start, end, _) in zip(reader.segments.found, reader.places, strict=True):
        parts += [text[done:start], cut(segment, language or "")]
        done = end

    def write(pieces: Pieces) -> str:
        return "".join(
            escaped(each, form)
            if isinstance(each, str)
            else text[slice(*map(int, each.raw.split(":")))]
            for each in pieces
        )

    return FormattedText([*parts, text[done:]], write)


def of_segment(text: str, language: str) -> FormattedText:
    """The segment of a document, as a page sends it."""
    return FormattedText([cut(from_json(text), language)], tagged)


def escaped(text: str, form: Format) -> str:
    written = escape(text, quote=False)
    return written.replace("\xa0", "&nbsp;") if form == "html" else written
