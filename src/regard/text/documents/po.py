"""gettext's PO and POT files.

An entry without a translation gets one, with the mark `fuzzy`, for a person to review. Every plural
form is a text of its own. Of a template, the header's blanks that depend on the language are
filled, since gettext refuses plural forms without them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from regard.text.documents.content import Content, Edit
from regard.text.documents.document import (
    Document,
    Segments,
    Translations,
    Wish,
    check_language,
    has_words,
    words_of,
)
from regard.text.documents.plurals import example_numbers, plural_header
from regard.text.marks import Syntax

_CHARSET = re.compile(rb'^"[^"\n]*charset=([A-Za-z0-9._-]+)', re.MULTILINE | re.IGNORECASE)
_KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d+)\])?[ \t]*(?=\")")
_STRING = re.compile(r'"((?:[^"\\\r\n]|\\.)*)"[ \t]*(?=\r?\n|\Z)')
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_BACK = {"\\": "\\\\", '"': '\\"', **{letter: f"\\{name}" for name, letter in _ESCAPES.items()}}
WIDTH = 79
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
    fields: dict[str, Field] = field(default_factory=dict)
    forms: dict[int, Field] = field(default_factory=dict)

    @property
    def source(self) -> str:
        return self.fields["msgid"].text

    @property
    def key(self) -> str:
        context = self.fields.get("msgctxt")
        return f"{context.text}\4{self.source}" if context else self.source


def read(name: str, data: bytes, wish: Wish) -> Document:
    charset = _CHARSET.search(data)
    declared = charset[1].decode() if charset and charset[1] != b"CHARSET" else "utf-8"
    content = Content.of(name, data, declared)
    entries = list(_entries(content))
    header = next((each for each in entries if not each.source and each.forms), None)
    header_text = header.forms[0].text if header and 0 in header.forms else ""
    values = {
        key.strip().lower(): value.strip()
        for key, _, value in (line.partition(":") for line in header_text.split("\n"))
    }
    check_language(name, values.get("language", ""), wish.target, "to")
    plural_forms = values.get("plural-forms", "")
    is_blank = "INTEGER" in plural_forms or not plural_forms
    numbers = example_numbers(plural_header(wish.target) if is_blank else plural_forms) or [1, 0]
    segments = Segments()
    places: list[tuple[Entry, dict[int, int]]] = []
    for entry in entries:
        if entry is not header and entry.forms and has_words(entry.source):
            places.append((entry, _segments_of(entry, content, numbers, segments)))

    def write(translations: Translations) -> bytes:
        edits: list[Edit] = []
        wrapped = _is_wrapped(content.text)
        for entry, forms in places:
            given = {
                form: words_of(translations[number])
                for form, number in forms.items()
                if number in translations
            }
            if given:
                edits += _edits(content, entry, given, len(numbers), wrapped)
        if edits and header and 0 in header.forms:
            edits += _filled_header(content, header, wish.target)
        return content.spliced(edits)

    return Document(segments.found, write, is_bilingual=True)


def _segments_of(
    entry: Entry, content: Content, numbers: list[int], segments: Segments
) -> dict[int, int]:
    """The segment of each form of an entry."""
    line = content.line(entry.start)
    plural = entry.fields.get("msgid_plural")
    if plural is None:
        if 0 not in entry.forms:
            raise content.wrong(entry.start, "an entry has no msgstr; add one, which may be empty")
        done = bool(entry.forms[0].text)
        return {0: segments.add([entry.source], line, entry.key, done, entry.syntaxes)}
    found = {}
    for form, number in enumerate(numbers):
        source = entry.source if number == 1 else plural.text
        there = entry.forms.get(form)
        key = f"{entry.key}\5{form}"
        done = bool(there and there.text)
        found[form] = segments.add([source], line, key, done, entry.syntaxes)
    return found


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
            if text.startswith("#,", start):
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
    return _ESCAPES.get(name, name)


def _edits(
    content: Content, entry: Entry, given: dict[int, str], count: int, wrapped: bool
) -> Iterator[Edit]:
    first = entry.forms[min(entry.forms)]
    if not entry.is_fuzzy:
        if entry.flags >= 0:
            yield Edit(entry.flags, entry.flags, " fuzzy,")
        else:
            at = entry.previous if entry.previous >= 0 else entry.start
            yield Edit(at, at, f"#, fuzzy{content.newline}")
    if "msgid_plural" not in entry.fields:
        text = _fitting(entry.source, given[0])
        yield Edit(first.quote, first.end, _quoted(text, "msgstr ", content, wrapped))
        return
    lines = []
    for form in range(count):
        there = entry.forms.get(form)
        name = f"msgstr[{form}] "
        if form in given:
            text = _fitting(entry.source, given[form])
            lines.append(name + _quoted(text, name, content, wrapped))
        elif there:
            lines.append(content.text[there.start : there.end])
        else:
            lines.append(f'{name}""')
    last = max(each.end for each in entry.forms.values())
    yield Edit(first.start, last, content.newline.join(lines))


def _fitting(source: str, text: str) -> str:
    """gettext refuses a translation whose line breaks at the ends are not those of the source."""
    text = text.strip("\n")
    start, end = source.startswith("\n"), source.endswith("\n")
    return "\n" * start + text + "\n" * end


def _is_wrapped(text: str) -> bool:
    """Whether long lines are wrapped, as gettext's own tools do."""
    return all(len(line) <= WIDTH + 2 for line in text.split("\n") if line.startswith('"'))


def _quoted(text: str, keyword: str, content: Content, wrapped: bool) -> str:
    """A string as gettext's tools write it."""
    lines = (
        [
            "".join(_BACK.get(letter, letter) for letter in line)
            for line in text.splitlines(keepends=True)
        ]
        if "\r" not in text
        else ["".join(_BACK.get(letter, letter) for letter in text)]
    )
    lines = lines or [""]
    if len(lines) == 1 and (not wrapped or len(keyword) + len(lines[0]) + 2 <= WIDTH):
        return f'"{lines[0]}"'
    pieces = [piece for line in lines for piece in (_cut(line) if wrapped else [line])]
    return content.newline.join(['""', *(f'"{piece}"' for piece in pieces)])


def _cut(line: str) -> Iterator[str]:
    """A line in pieces that fit, cut after spaces."""
    while len(line) + 2 > WIDTH:
        at = line.rfind(" ", 0, WIDTH - 2) + 1 or line.find(" ") + 1
        if at in (0, len(line)):
            break
        yield line[:at]
        line = line[at:]
    yield line


def _filled_header(content: Content, header: Entry, target: str) -> Iterator[Edit]:
    """The blanks of a template's header that depend on the language."""
    field = header.forms[0]
    raw = content.text[field.quote : field.end]
    blanks = {
        r'"Language:\s*?\\n"': f'"Language: {target}\\n"',
        r'"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"': (
            f'"Plural-Forms: {plural_header(target)}\\n"'
        ),
        r"charset=CHARSET": "charset=UTF-8",
    }
    for blank, filled in blanks.items():
        if found := re.search(blank, raw):
            at = field.quote + found.start()
            yield Edit(at, at + len(found[0]), filled)
