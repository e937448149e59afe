"""Finds what a translation must have unchanged: tags, placeholders, addresses, code.

`text` is for texts of any kind: it takes what is hardly ever prose. The other syntaxes are for
texts that are known to be written in them, and take all of it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import unescape
from typing import NamedTuple

from regard.text.marks import Kind, Mark, MarkedText, Syntax

# Tags that end by themselves.
VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)
# Tags that stand in a sentence.
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
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "label",
        "mark",
        "q",
        "ruby",
        "rb",
        "rp",
        "rt",
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
        "wbr",
        "br",
    ]
)
# Tags whose content is not language.
VERBATIM = frozenset(
    ["code", "kbd", "math", "pre", "samp", "script", "style", "svg", "textarea", "var"]
)
# Names that a tag has in a text which is not known to be markup.
FAMILIAR = (
    INLINE
    | VERBATIM
    | VOID
    | frozenset(
        [
            "button",
            "div",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "li",
            "ol",
            "option",
            "p",
            "select",
            "table",
            "tbody",
            "td",
            "th",
            "thead",
            "title",
            "tr",
            "ul",
        ]
    )
)

_CONVERSION = (
    r"%(?:\d{1,2}\$)?[-+0#']*(?:\*|\d{1,4})?(?:\.(?:\*|\d{1,4}))?(?:hh|h|ll|l|L|q|j|z|t)?"
    r"[diouxXeEfFgGaAcCsSpn@]"
)
_NAMED = r"%\(\w[\w .:-]{0,80}\)[-+0# ]?\d*(?:\.\d+)?[a-zA-Z]"
_BRACED = r"[^\W\d][\w.$-]{0,80}(?:\[[\w.'\"-]{1,40}\])*(?:![rsa])?(?::[^{}\s]{0,40})?"
_URL = (
    r"(?:(?:https?|ftp|file|sftp|ssh)://|\bwww\.|\bmailto:)[^\s<>\"'`“”«»]{1,2000}"
    r"(?<![.,;:!?)\]}…])"
)
_EMAIL = r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,5}\b"
_TAG = re.compile(
    r"<!--.{0,4000}?-->|<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]{0,60}|\d{1,4})(?=[\s/>])"
    r"(?:[^<>\"']|\"[^\"]{0,2000}\"|'[^']{0,2000}'){0,200}?(?P<void>/?)>",
    re.DOTALL,
)
_PATTERNS: dict[Syntax, tuple[str, ...]] = {
    "address": (_URL, _EMAIL),
    "weblate": (r"\[X\d{1,9}X ?\]",),
    "printf": (r"%%", _NAMED, _CONVERSION, r"%L?\d{1,2}(?!\$)"),
    "python-brace": (r"\{\{|\}\}", r"\{(?:\d+|" + _BRACED + r")?(?:![rsa])?(?::[^{}]{0,40})?\}"),
    "brace": (
        r"\{\{[^{}]{1,200}\}\}",
        r"\{%[^{}%]{1,200}%\}",
        r"%\{[\w.-]{1,80}\}",
        r"\$?\{[^{}\s]{1,80}\}",
        r"\{[^\W\d]\w{0,80},[^{}]{1,80}\}",
    ),
    "dollar": (r"\$\{[^{}\s]{1,80}\}", r"\$[A-Za-z_]\w{0,80}\$?", r"\$\$"),
    "text": (
        r"`[^`\n]{1,200}`",
        r"%%",
        _NAMED,
        # Not the % of "100%discount", and not the beginning of a word.
        r"(?<![\d%])" + _CONVERSION + r"(?![A-Za-z]{2}|[^\W\d_a-zA-Z])",
        r"(?<![\w%])%L?\d{1,2}(?![\w$%])",
        r"\{\{[^{}]{1,200}\}\}",
        r"\{%[^{}%]{1,200}%\}",
        r"<%[^<>%]{1,200}%>",
        r"%\{[\w.-]{1,80}\}",
        r"\$\{[^{}\s]{1,80}\}",
        r"\$[A-Za-z_]\w{1,80}\$",
        r"\$t\([^()\s]{1,80}\)",
        r"\{(?:\d{1,3}|" + _BRACED + r")?\}",
        r"\{\d{1,3}(?:[,:][^{}\n]{0,40})\}",
    ),
}
# What each of these looks for, too.
_ALSO: dict[Syntax, tuple[Syntax, ...]] = {
    "text": ("address", "weblate"),
    "html": ("address", "weblate"),
    "xml": ("address",),
}
# A text without any of these has nothing that looks like a mark.
SIGNS = re.compile(r"[%{}<$`@\[]|://|www\.|mailto:")
LONGEST_CONSTRUCT = 5000
_COMPLEX = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,")


class Found(NamedTuple):
    start: int
    end: int
    mark: Mark


def protect(text: str, *syntaxes: Syntax) -> MarkedText:
    """Find the marks of a text, by default those of the syntax `text`. With `html` or `xml` its
    entities are read, and written again by `str`.
    """
    chosen = syntaxes or ("text",)
    escaped = "html" in chosen or "xml" in chosen
    found = [*_tags(text, chosen), *_constructs(text, chosen), *_placeholders(text, chosen)]
    parts: list[str | Mark] = []
    place = 0
    for start, end, mark in _apart(found):
        between = text[place:start]
        parts += [unescape(between) if escaped else between, mark]
        place = end
    parts.append(unescape(text[place:]) if escaped else text[place:])
    return MarkedText((), escaped, chosen).with_parts(parts)


def unmarked(text: str) -> MarkedText:
    """A text in which nothing is protected."""
    return MarkedText((text,) if text else ())


def _apart(found: Iterable[Found]) -> Iterator[Found]:
    """Those that begin first, and of these the longest; none inside another."""
    place = 0
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        if each.start >= place:
            yield each
            place = each.end


@cache
def _pattern(syntaxes: Sequence[Syntax]) -> re.Pattern[str] | None:
    every = dict.fromkeys(name for syntax in syntaxes for name in (syntax, *_ALSO.get(syntax, ())))
    patterns = [pattern for name in every for pattern in _PATTERNS.get(name, ())]
    return re.compile("|".join(patterns)) if patterns else None


def _placeholders(text: str, syntaxes: tuple[Syntax, ...]) -> Iterator[Found]:
    pattern = _pattern(syntaxes)
    for match in pattern.finditer(text) if pattern else ():
        shown = match[0]
        ordered = bool(re.fullmatch(_CONVERSION, shown)) and "$" not in shown
        yield Found(*match.span(), Mark(shown, word=True, ordered=ordered))


def _constructs(text: str, syntaxes: tuple[Syntax, ...]) -> Iterator[Found]:
    """Plurals and selections of ICU's messages, whole."""
    wanted = {"text", "icu", "brace"} & {*syntaxes}
    simple = re.compile(r"\{[^{}]{1,200}\}") if "icu" in syntaxes else None
    complex_ones = [*_COMPLEX.finditer(text)] if wanted else []
    ends = braces(text) if complex_ones else {}
    for each in complex_ones:
        start, end = each.start(), ends.get(each.start(), 0)
        if start < end <= start + LONGEST_CONSTRUCT:
            yield Found(start, end, Mark(text[start:end], word=True))
    for match in simple.finditer(text) if simple else ():
        yield Found(*match.span(), Mark(match[0], word=True))


def braces(text: str) -> dict[int, int]:
    """Where each brace that is closed begins, and where what it begins ends."""
    found, waiting = {}, []
    for each in re.finditer("[{}]", text):
        if each[0] == "{":
            waiting.append(each.start())
        elif waiting:
            found[waiting.pop()] = each.end()
    return found


def _tags(text: str, syntaxes: tuple[Syntax, ...]) -> Iterator[Found]:
    strict = "text" in syntaxes and not {"html", "xml"} & {*syntaxes}
    if not strict and not {"html", "xml"} & {*syntaxes}:
        return
    matches = [*_TAG.finditer(text)] if "<" in text else []
    names = [(match["name"] or "", bool(match["end"])) for match in matches]
    both = {*names}
    pairs = {name for name, end in both if (name, not end) in both}
    closers: dict[str, list[int]] = {}
    for match in matches:
        if match["end"]:
            closers.setdefault(match["name"].lower(), []).append(match.end())
    place = 0
    for match, (name, _) in zip(matches, names, strict=True):
        if match.start() < place:
            continue
        familiar = name.lower() in FAMILIAR or name.isdigit() or name in pairs
        bare = match[0].strip("</>").strip() == name
        if strict and name and not (familiar and (bare or "=" in match[0])):
            continue
        end = _verbatim_end(match, closers.get(name.lower(), [])) if "xml" not in syntaxes else 0
        if end:
            place = end
            yield Found(match.start(), end, Mark(text[match.start() : end], word=True))
        else:
            yield Found(*match.span(), Mark(match[0], tag_kind(match, name), name.lower()))


def _verbatim_end(match: re.Match[str], ends: Sequence[int]) -> int:
    """Where a tag ends whose content is not language, given where such tags are closed; 0 for
    every other tag.
    """
    if (match["name"] or "").lower() not in VERBATIM or match["end"] or match["void"]:
        return 0
    after = bisect_right(ends, match.end())
    return ends[after] if after < len(ends) else 0


def tag_kind(match: re.Match[str], name: str) -> Kind:
    if match["end"]:
        return "close"
    alone = not name or match["void"] or name.lower() in VOID
    return "alone" if alone else "open"
