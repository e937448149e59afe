"""gettext's PO and POT files.

An entry without a translation gets one. It has the mark `fuzzy`, for a person to review, unless it
is from a memory; a comment says how sure the model is. Every plural form is a text of its own. Of a
template, the header's blanks that depend on the language are filled, since gettext refuses plural
forms without them.
"""

import re
from collections.abc import Iterator, Sequence

from regard.text.documents.content import Content, Edit
from regard.text.documents.document import (
    Document,
    HowSure,
    Segments,
    Translations,
    Wish,
    check_language,
    has_words,
    words_of,
)
from regard.text.documents.plurals import example_numbers, plural_header
from regard.text.documents.po_entries import ESCAPES, Catalogue, Entry, judged_comment
from regard.text.memory import Match

_BACK = {"\\": "\\\\", '"': '\\"', **{letter: f"\\{name}" for name, letter in ESCAPES.items()}}
WIDTH = 79


def read(name: str, data: bytes, wish: Wish) -> Document:
    catalogue = Catalogue.of(name, data)
    content, header = catalogue.content, catalogue.header
    check_language(name, catalogue.facts.get("language", ""), wish.target, "to")
    numbers = example_numbers(catalogue.plural_forms(wish.target)) or [1, 0]
    segments = Segments()
    places: list[tuple[Entry, dict[int, int]]] = []
    for entry in catalogue.messages:
        if has_words(entry.source):
            places.append((entry, _segments_of(entry, content, numbers, segments)))

    matches: dict[int, Match] = {}
    sure: dict[int, HowSure] = {}

    def write(translations: Translations) -> bytes:
        edits: list[Edit] = []
        wrapped = _is_wrapped(content.text)
        finished = wish.reviewed | {row for row, match in matches.items() if match.percent == 100}
        for entry, forms in places:
            given = {
                form: words_of(translations[number])
                for form, number in forms.items()
                if number in translations
            }
            if given:
                judged = [sure[row] for row in forms.values() if row in sure]
                if not finished.issuperset(forms.values()):
                    edits += _say_how_sure(content, entry, judged)
                    edits += _mark_for_review(content, entry)
                edits += _edits(content, entry, given, len(numbers), wrapped)
        if edits and header and 0 in header.forms:
            edits += _filled_header(content, header, wish.target)
        return content.spliced(edits)

    return Document(
        segments.found, write, is_bilingual=True, matches=matches, sure=sure, says_how_sure=True
    )


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


def _say_how_sure(content: Content, entry: Entry, sure: Sequence[HowSure]) -> Iterator[Edit]:
    """A comment of the least sure form, in place of one that an earlier translation has left."""
    for start, end in entry.judged:
        yield Edit(start, end, "")
    if sure:
        least = min(sure, key=lambda each: each.probability)
        at = entry.comments if entry.comments >= 0 else entry.start
        yield Edit(at, at, judged_comment(least) + content.newline)


def _mark_for_review(content: Content, entry: Entry) -> Iterator[Edit]:
    if not entry.is_fuzzy:
        if entry.flags >= 0:
            yield Edit(entry.flags, entry.flags, " fuzzy,")
        else:
            at = entry.previous if entry.previous >= 0 else entry.start
            yield Edit(at, at, f"#, fuzzy{content.newline}")


def _edits(
    content: Content, entry: Entry, given: dict[int, str], count: int, wrapped: bool
) -> Iterator[Edit]:
    first = entry.forms[min(entry.forms)]
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
