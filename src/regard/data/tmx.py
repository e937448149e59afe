"""Translation memories (TMX): units that hold the same text in two or more languages.

They are read as a stream. Of the tags inside a segment, those of the program that wrote it are left
out with what they hold, and `hi` leaves its text, so a pair is plain text; or they become tags with
numbers, as in `Click <1>here</1>`, and placeholders what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from regard.data.lines import chunks
from regard.errors import DataError
from regard.text.languages import base_code
from regard.text.marks import Mark
from regard.text.protect import protect
from regard.text.safe_xml import LONGEST_TEXT, read_xml

Texts = dict[str, str]  # by the code of the language, as the file writes it
Unit = tuple[Texts, str]  # and its place

# So many units show which languages a memory has.
LOOKED_AT = 2000
MOST_NAMED = 20
# So much is looked at of what a tag holds.
MOST_HELD = 200
# Tags that hold code of the program that wrote the file, such as a font or a field.
CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})
# Of these, tags that come in twos stand inside words; one alone, between two words, is a break.
ALONE = frozenset({"ph", "it", "ut"})
_SPACES = str.maketrans("\t\n\r", "   ")


def units(path: Path, with_tags: bool = False) -> Iterator[Unit]:
    """Each unit, with the line where it begins."""
    handler = _TaggedUnits(path) if with_tags else _Units(path)
    for _ in read_xml(chunks(path), str(path), handler, doctype="tmx"):
        yield from handler.taken()
    if not handler.has_body:
        raise DataError(f"{path}: no <tmx> with a <body>, so this is no translation memory")


def source_language(path: Path) -> str:
    """The language that the header names as the source; "" if it names none."""
    handler = _Units(path)
    for _ in read_xml(chunks(path), str(path), handler, doctype="tmx"):
        if handler.has_body:
            break
    return "" if handler.source == "*all*" else handler.source


class _Units:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.source = ""
        self.has_body = False
        self.found: list[Unit] = []
        self.texts: Texts = {}
        self.language = self.place = ""
        self.last_line, self.in_line = 0, 0
        self.parts: list[str] | None = None  # of the segment
        self.size = 0
        self.codes = 0  # tags of code around the text
        self.break_between = False

    def taken(self) -> list[Unit]:
        found, self.found = self.found, []
        return found

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        match name:
            case "header":
                self.source = attributes.get("srclang", "")
            case "body":
                self.has_body = True
            case "tu":
                self.texts = {}
                self.in_line = self.in_line + 1 if line == self.last_line else 1
                self.last_line = line
                # Some programs write the whole memory in one line.
                number = f", unit {self.in_line}" if self.in_line > 1 else ""
                self.place = f"{self.path}:{line}{number}"
            case "tuv":
                self.language = attributes.get("xml:lang") or attributes.get("lang", "")
            case "seg":
                self.parts, self.size, self.codes = [], 0, 0
                self.break_between = False
            case _ if self.parts is not None and (name in CODES or self.codes):
                self.codes += 1
                self.break_between |= name in ALONE

    def end(self, name: str) -> None:
        if name == "seg" and self.parts is not None:
            text = "".join(self.parts).translate(_SPACES).strip()
            if self.language and text:
                self.texts.setdefault(self.language, text)
            self.parts = None
        elif name == "tu":
            self.found.append((self.texts, self.place))
        elif self.parts is not None and self.codes:
            self.codes -= 1

    def text(self, data: str) -> None:
        if self.parts is None or self.codes:
            return
        self.size += len(data)
        if self.size > LONGEST_TEXT:
            raise DataError(f"{self.place}: a segment of more than 16 million characters")
        before = self.parts[-1][-1:] if self.parts else ""
        if self.break_between and before.isalnum() and data[:1].isalnum():
            self.parts.append(" ")
        self.break_between = False
        self.parts.append(data)


class _TaggedUnits(_Units):
    """Keeps the tags of a segment, numbered by what the two languages have in common."""

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        if name == "seg":
            self.tags: list[str] = []  # those that are open
            self.pairs: dict[str, str] = {}  # names of pairs, by what their two ends share
            self.count = 0
            self.held = ""
        elif self.parts is not None:
            self.held = "" if not self.codes else self.held
            self.tags.append(self.tag(name, attributes))
            if name == "hi" and not self.codes:
                self.parts.append(f"<{self.tags[-1]}>")
        super().start(name, attributes, line)

    def tag(self, name: str, attributes: Mapping[str, str]) -> str:
        self.count += 1
        own, shared = attributes.get("i", ""), attributes.get("x", "")
        if name == "ept":
            return self.pairs.get(own, own or str(self.count))
        found = shared or own or str(self.count)
        if name == "bpt":
            self.pairs[own] = found
        return found if found.isdigit() and len(found) < 4 else str(self.count)

    def end(self, name: str) -> None:
        if self.parts is not None and name != "seg":
            tag = self.tags.pop()
            if name == "hi" and not self.codes:
                self.parts.append(f"</{tag}>")
            elif self.codes == 1:
                whole = {"bpt": f"<{tag}>", "ept": f"</{tag}>"}.get(name, f"<{tag}/>")
                self.parts.append(self.held if is_placeholder(self.held) else whole)
                self.break_between = False
        super().end(name)

    def text(self, data: str) -> None:
        if self.parts is not None and self.codes:
            self.held = (self.held + data)[:MOST_HELD]
        super().text(data)


def is_placeholder(text: str) -> bool:
    """Whether a code of a program is a placeholder, such as `%s` or `{name}`."""
    parts = protect(text).parts
    return len(parts) == 1 and isinstance(parts[0], Mark) and parts[0].word


def languages_of_units(path: Path) -> tuple[str, str]:
    """The only two languages of a memory, that of its source first."""
    found: dict[str, str] = {}
    for texts, _ in islice(units(path), LOOKED_AT):
        for code in texts:
            found.setdefault(base_code(code), code)
    if len(found) != 2:
        raise wrong_languages(path, list(found.values()))
    first, second = found.values()
    source = base_code(source_language(path))
    return (second, first) if source == base_code(second) else (first, second)


def wrong_languages(path: Path, codes: Sequence[str]) -> DataError:
    if not codes:
        return DataError(f"{path}: no segment has both a language and a text; give another export")
    named = ", ".join(codes)
    if len(codes) == 1:
        return DataError(f"{path}: its only language is {named}; export it with its translations")
    return DataError(f"{path}: its languages are {named}; name two of them with --languages")


def two_texts(
    path: Path, languages: tuple[str, str] | None = None, with_tags: bool = False
) -> Iterator[tuple[str, str, str]]:
    """Source, target and place of each unit that has both languages; without any asked for, the
    only two.
    """
    wanted = languages or languages_of_units(path)
    found: dict[str, str] = {}
    count = 0
    for texts, place in units(path, with_tags):
        source, target = (text_in(texts, code, wanted) for code in wanted)
        if source is not None and target is not None:
            count += 1
            yield source, target, place
        elif not count and len(found) < MOST_NAMED:
            found.update((base_code(code), code) for code in texts)
    if not count:
        has = f"; its languages are {', '.join(found.values())}" if found else ""
        raise DataError(
            f"{path}: no unit has both {wanted[0]} and {wanted[1]}{has}; name two with --languages"
        )


def text_in(texts: Mapping[str, str], code: str, wanted: tuple[str, str]) -> str | None:
    """The text of a language: of this very code, or else of another region."""
    code = _same(code)
    by_code = {_same(each): text for each, text in texts.items()}
    if code in by_code:
        return by_code[code]
    if base_code(wanted[0]) == base_code(wanted[1]):
        return None
    near = (text for each, text in texts.items() if base_code(each) == base_code(code))
    return next(near, None)


def _same(code: str) -> str:
    return code.replace("_", "-").lower()
