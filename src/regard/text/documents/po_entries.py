"""The entries of gettext's PO and POT files."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from regard.text.documents.content import Content
from regard.text.documents.document import HowSure
from regard.text.documents.plurals import plural_header
from regard.text.marks import Syntax

_CHARSET = re.compile(rb'^"[^"\n]*charset=([A-Za-z0-9._-]+)', re.MULTILINE | re.IGNORECASE)
_KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d+)\])?[ \t]*(?=\")")
_OBSOLETE = re.compile(r"^#~[ \t]*msgid[ \t]*\"", re.MULTILINE)
_STRING = re.compile(r'"((?:[^"\\\r\n]|\\.)*)"[ \t]*(?=\r?\n|\Z)')
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_JUDGED = re.compile(r"# regard: [a-z ]+, \d+ % sure\s*$", re.MULTILINE)
# Flags of entries, and how their placeholders are written.
SYNTAXES: dict[str, Syntax] = {
    **dict.fromkeys(
        ("c-format", "objc-format", "php-format", "python-format", "perl-format", "qt-format"),
        "printf",
    ),
    "python-brace-format": "python-brace",
    "perl-brace-format": "brace",
    "java-format": "icu",
    "sh-format": "dollar",
}


@dataclass
class Field:
    """A keyword of an entry with its string, and where the quotation marks are."""

    text: str
    start: int  # of the keyword
    quote: int  # of the first quotation mark
    end: int


@dataclass
class Entry:
    start: int  # of the line that its first keyword is in
    flags: int = -1  # where the names of its flags begin
    is_fuzzy: bool = False
    syntaxes: tuple[Syntax, ...] = ()
    previous: int = -1  # where `#|` begins: flags stand before it
    comments: int = -1  # where its first comment begins
    judged: list[tuple[int, int]] = field(default_factory=list)  # the comments on how sure it is
    fields: dict[str, Field] = field(default_factory=dict)
    forms: dict[int, Field] = field(default_factory=dict)

    @property
    def source(self) -> str:
        return self.fields["msgid"].text

    @property
    def key(self) -> str:
        context = self.fields.get("msgctxt")
        return f"{context.text}\4{self.source}" if context else self.source


@dataclass
class Catalogue:
    """A file as its entries, of which obsolete ones are only counted; the header is the one without
    a source.
    """

    content: Content
    entries: list[Entry]
    obsolete: int

    @classmethod
    def of(cls, name: str, data: bytes) -> "Catalogue":
        charset = _CHARSET.search(data)
        declared = charset[1].decode() if charset and charset[1] != b"CHARSET" else "utf-8"
        content = Content.of(name, data, declared)
        return cls(content, [*_entries(content)], len(_OBSOLETE.findall(content.text)))

    @cached_property
    def header(self) -> Entry | None:
        return next((each for each in self.entries if not each.source and each.forms), None)

    @cached_property
    def messages(self) -> list[Entry]:
        return [each for each in self.entries if each is not self.header and each.forms]

    @cached_property
    def facts(self) -> dict[str, str]:
        """What the header says, by names in small letters."""
        text = self.header.forms[0].text if self.header and 0 in self.header.forms else ""
        lines = (line.partition(":") for line in text.split("\n"))
        return {key.strip().lower(): value.strip() for key, _, value in lines}

    def plural_forms(self, language: str) -> str:
        """The header's rule for plural forms; where it says none, that of a language."""
        found = self.facts.get("plural-forms", "")
        return plural_header(language) if "INTEGER" in found or not found else found


def judged_comment(sure: HowSure) -> str:
    """A comment on how sure the model is of a translation."""
    return f"# regard: {sure.verdict}, {sure.percent} % sure"


def _entries(content: Content) -> Iterator[Entry]:
    """The entries that are not obsolete."""
    text, entry, flags = content.text, None, Entry(0)
    at, current = 0, None
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end + 1
        start = at + len(text[at:end]) - len(text[at:end].lstrip(" \t"))
        if text[start:end].strip() == "" or text[start] == "#":
            if text.startswith("#", start) and entry is not None and entry.forms:
                yield entry  # a comment begins the next entry
                entry, flags = None, Entry(0)
            if text.startswith("#", start) and flags.comments < 0:
                flags.comments = at
            if text.startswith("#~", start):
                flags = Entry(0)  # of the obsolete entry
            elif _JUDGED.match(text, start, end):
                flags.judged.append((at, end))
            elif text.startswith("#,", start):
                names = [each.strip() for each in text[start + 2 : end].split(",")]
                flags.flags = start + 2 if flags.flags < 0 else flags.flags
                flags.is_fuzzy |= "fuzzy" in names
                flags.syntaxes += tuple(
                    syntax for name, syntax in SYNTAXES.items() if name in names
                )
            elif text.startswith("#|", start) and flags.previous < 0:
                flags.previous = start
            current = None
        elif keyword := _KEYWORD.match(text, start, end):
            kind, form = keyword[1], keyword[2]
            begins = kind == "msgctxt" or (kind == "msgid" and "msgid" in (entry or flags).fields)
            if entry is not None and (begins or (kind == "msgid" and entry.forms)):
                yield entry
                entry, flags = None, Entry(0)
            if entry is None:
                entry, flags = flags, Entry(0)
                entry.start = start
            value, stop = _string(content, keyword.end(), end)
            current = Field(value, start, keyword.end(), stop)
            if kind == "msgstr":
                entry.forms[int(form or 0)] = current
            else:
                entry.fields[kind] = current
            if "msgid" not in entry.fields and kind != "msgctxt":
                raise content.wrong(start, f"{kind} comes before msgid; mend the file")
        elif text[start] == '"' and current is not None:
            more, current.end = _string(content, start, end)
            current.text += more
        else:
            raise content.wrong(
                start, f"not a line of a PO file: {text[start:end].strip()[:40]!r}; mend the file"
            )
        at = end
    if entry is not None:
        yield entry


def _string(content: Content, start: int, end: int) -> tuple[str, int]:
    found = _STRING.match(content.text, start, end)
    if not found:
        raise content.wrong(start, "a string has no end, or text follows it; mend the file")
    return _ESCAPE.sub(_unescaped, found[1]), start + len(found[1]) + 2


def _unescaped(found: re.Match[str]) -> str:
    name = found[1]
    if name[0] == "x" and len(name) > 1:
        return chr(int(name[1:], 16))
    if name[0] in "01234567":
        return chr(int(name, 8))
    return ESCAPES.get(name, name)
