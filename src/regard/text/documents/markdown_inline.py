"""Where emphasis, links and code stand in a paragraph of Markdown, by the rules of markdown-it."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Any

from regard.text.documents.document import Code, Part, text_parts

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


# Directives, footnotes and definitions, whose names are no text.
_KEPT = re.compile(r"^\\?\[![A-Z]+\]|^(?::::|!!!).*|\{%.*?%\}|\[\^[^\]\s]+\]:?", re.MULTILINE)


_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)")


_TEXT = frozenset({"text", "softbreak", "text_special"})


@dataclass(frozen=True)
class Note:
    """Where a rule has matched; `label` is where the text of a link ends, and `delimiters` from
    number `first` are the marks of emphasis that were found.
    """

    rule: str
    start: int
    end: int
    label: int
    delimiters: list[Any]
    first: int


@dataclass(frozen=True)
class Span:
    """A place of a text that is no plain text: a code, or other text, or a break (None)."""

    start: int
    end: int
    content: Code | str | None


@cache
def parser() -> "MarkdownIt":
    """CommonMark with tables and strikethrough, which notes where each rule has matched."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for rule in parser.inline.ruler.__rules__:
        rule.fn = _noted(rule.name, rule.fn)
    parser.inline.ruler.__compile__()
    return parser


def _noted(name: str, rule: Any) -> Any:
    def noted(state: Any, silent: bool) -> bool:
        start, delimiters, before = state.pos, state.delimiters, len(state.delimiters)
        found: bool = rule(state, silent)
        notes = state.env.get("notes")
        # The text of an image is parsed by itself, so its places are others.
        if found and not silent and notes is not None and state.src == state.env["text"]:
            end = state.pos
            label = state.md.helpers.parseLinkLabel(state, start, True) if name == "link" else 0
            notes.append(Note(name, start, end, label, delimiters, before))
        return found

    return noted


def _inline(text: str, references: dict[str, Any]) -> tuple[list[Note], list[Any]]:
    """What inline rules have found where, and the tokens."""
    notes: list[Note] = []
    tokens = parser().parseInline(text, {"notes": notes, "text": text, "references": references})
    return notes, tokens[0].children or []


def parts_of(text: str, references: dict[str, Any]) -> Iterator[Part | None]:
    notes, _ = _inline(text, references)
    at = 0
    for span in _spans(text, notes):
        if span.start < at:  # inside a code
            continue
        yield from text_parts(text[at : span.start], at)
        yield None if span.content is None else Part(span.content, span.start, span.end)
        at = span.end
    yield from text_parts(text[at:], at)


def _spans(text: str, notes: list[Note]) -> list[Span]:
    spans: list[Span] = []
    pairs = [
        ((note.start, note.start + 1), (note.label, note.end))
        for note in notes
        if note.rule == "link"
    ]
    for number, (opening, closing) in enumerate([*pairs, *_emphasis(notes)], start=1):
        spans.append(Span(*opening, Code("open", text[slice(*opening)], number)))
        spans.append(
            Span(*closing, Code("close", text[slice(*closing)].replace("\n", " "), number))
        )
    number = len(spans) + 1
    open_tags: list[tuple[str, int, Span]] = []
    for note in notes:
        raw = text[note.start : note.end]
        number += 1
        raw = raw.replace("\n", " ") if note.rule != "escape" else raw
        # The name of a function, or an address, is a word of its sentence.
        shown = raw if note.rule in ("backticks", "autolink") else ""
        alone = Span(note.start, note.end, Code("alone", raw, number, shown))
        if note.rule == "escape":
            spans.append(Span(note.start, note.end, None if raw[1:2] == "\n" else raw[1:]))
        elif note.rule == "entity":
            spans.append(Span(note.start, note.end, unescape(raw)))
        elif note.rule == "newline" and text[: note.start].endswith("  "):
            spans.append(Span(note.start, note.end, None))
        elif note.rule in ("image", "autolink") or (note.rule == "backticks" and raw.strip("`")):
            spans.append(alone)
        elif note.rule == "html_inline":
            spans.append(alone)
            tag = _TAG.match(raw)
            if tag and not tag[1] and not raw.endswith("/>"):
                open_tags.append((tag[2], number, alone))
            elif tag and tag[1] and open_tags and open_tags[-1][0] == tag[2]:
                _, first, before = open_tags.pop()
                spans.remove(before)
                spans[-1] = Span(note.start, note.end, Code("close", raw, first))
                raw = text[before.start : before.end]
                spans.append(Span(before.start, before.end, Code("open", raw, first)))
    for found in _KEPT.finditer(text):
        number += 1
        spans.append(Span(*found.span(), Code("alone", found[0], number)))
    return sorted(spans, key=lambda span: (span.start, -span.end))


def _emphasis(notes: list[Note]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where emphasis opens and closes. Marks that stand together are one."""
    places: dict[int, tuple[list[Any], dict[int, tuple[int, int]]]] = {}
    for note in notes:
        if note.rule in ("emphasis", "strikethrough"):
            width = 2 if note.rule == "strikethrough" else 1
            count = (note.end - note.start) // width
            _, known = places.setdefault(id(note.delimiters), (note.delimiters, {}))
            for number in range(count):
                start = note.end - (count - number) * width
                known[note.first + number] = (start, start + width)
    pairs = sorted(
        (known[number], known[delimiter.end])
        for delimiters, known in places.values()
        for number, delimiter in enumerate(delimiters)
        if delimiter.end >= 0 and number in known and delimiter.end in known
    )
    merged: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for opening, closing in pairs:
        if merged and merged[-1][0][1] == opening[0] and merged[-1][1][0] == closing[1]:
            merged[-1] = ((merged[-1][0][0], opening[1]), (closing[0], merged[-1][1][1]))
        else:
            merged.append((opening, closing))
    return merged


def kinds_of(text: str, references: dict[str, Any]) -> Counter[str]:
    _, tokens = _inline(text, references)
    return Counter(each.type for each in tokens if each.type not in _TEXT)
