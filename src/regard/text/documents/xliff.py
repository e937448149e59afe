"""XLIFF 1.2 and 2.x: a target is added to each unit that has none, with a state for review."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from regard.errors import DataError
from regard.text.documents.content import Edit
from regard.text.documents.document import (
    Code,
    Document,
    HowSure,
    Piece,
    Pieces,
    Segments,
    Translations,
    Wish,
    check_language,
    has_words,
    words_of,
)
from regard.text.documents.xliff_notes import (
    REVIEWED,
    TAKEN,
    TO_REVIEW,
    UNREVIEWED,
    Notes,
    metadata,
    old_notes,
)
from regard.text.documents.xml import Characters, Element, Xml, escaped, read_xml
from regard.text.marks import Mark
from regard.text.memory import Match
from regard.text.protect import protect

# Inline elements around text; what is inside the others is code of another program.
PAIRED = frozenset({"g", "pc", "mrk"})
# States in which a target is no translation yet.
UNFINISHED = frozenset({"new", "needs-translation", "initial"})


def read(name: str, data: bytes, wish: Wish) -> Document:
    xml = read_xliff(name, data)
    root, version = xml.root, xml.root.attribute("version")[:1]
    for each in [root, *root.all("file")]:
        source, target = languages_of(each)
        check_language(name, source, wish.source, "from")
        check_language(name, target, wish.target, "to")
    segments = Segments()
    matches: dict[int, Match] = {}
    sure: dict[int, HowSure] = {}
    places: list[Place] = []
    for number, (element, unit, key) in enumerate(_units(root)):
        if element.child("source") is not None:
            parts = _segments_of(xml, element, key or str(number), segments)
            places.append(Place(element, unit, parts))

    def write(translations: Translations) -> bytes:
        edits: list[Edit] = []
        said: dict[int, tuple[Element, dict[str, HowSure]]] = {}
        for place in places:
            numbers = [number for _, number in place.parts if number in translations]
            if numbers:
                found = [matches[number] for number in place.numbers if number in matches]
                doubts = [sure[number] for number in numbers if number in sure]
                is_taken = sum(match.percent == 100 for match in found) == len(place.parts)
                is_reviewed = wish.reviewed.issuperset(place.numbers)
                state = REVIEWED if is_reviewed else TAKEN if is_taken else TO_REVIEW
                notes = Notes.of(version, state, found, doubts)
                edits += _edits(xml, place.element, place.parts, translations, notes)
                _, names = said.setdefault(id(place.unit), (place.unit, {}))
                if notes.sure:
                    names[place.name] = notes.sure
        for unit, names in said.values() if version == "2" else ():
            edits += metadata(xml, unit, names)
        if edits and version == "2" and not root.attribute("trgLang") and wish.target:
            end = root.inside - 1
            edits.append(Edit(end, end, f' trgLang="{wish.target}"'))
        return xml.content.spliced(edits)

    return Document(
        segments.found, write, is_bilingual=True, matches=matches, sure=sure, says_how_sure=True
    )


@dataclass(frozen=True)
class Place:
    """What has a source and a target, the unit that it is in, and its parts with their segments."""

    element: Element
    unit: Element
    parts: list[tuple[Element, int]]

    @property
    def numbers(self) -> list[int]:
        return [number for _, number in self.parts]

    @property
    def name(self) -> str:
        """What it is called among others of its unit; "" if there are none."""
        others = [each for each in self.unit.elements if each.name == "segment"]
        if len(others) < 2:
            return ""
        return self.element.attribute("id") or str(others.index(self.element) + 1)


def read_xliff(name: str, data: bytes) -> Xml:
    xml = read_xml(name, data)
    root = xml.root
    if root.name != "xliff":
        raise DataError(f"{name}: is <{root.name}>, not <xliff>; name an XLIFF file")
    if root.attribute("version")[:1] not in TO_REVIEW:
        raise DataError(
            f"{name}: is XLIFF {root.attribute('version') or 'without a version'}; 1.2, 2.0, 2.1 "
            "and 2.2 can be read"
        )
    return xml


def languages_of(element: Element) -> tuple[str, str]:
    """The languages that an element names: a file in 1.2, all in 2.x; "" for one without a name."""
    source = element.attribute("source-language") or element.attribute("srcLang")
    return source, element.attribute("target-language") or element.attribute("trgLang")


@dataclass(frozen=True)
class Translated:
    """A unit with a source: `pairs` are its parts with their translations, if it has any."""

    languages: tuple[str, str]
    line: int
    pairs: list[tuple[Pieces, Pieces]]
    is_reviewed: bool


def translated_units(name: str, data: bytes) -> Iterator[Translated]:
    """What an XLIFF file holds."""
    xml = read_xliff(name, data)
    for file in xml.root.all("file"):
        first, second = zip(languages_of(file), languages_of(xml.root), strict=True)
        languages = first[0] or first[1], second[0] or second[1]
        for unit, _, _ in _units(file):
            if unit.child("source") is None:
                continue
            state = state_of(unit)
            target, pairs = unit.child("target"), []
            if target is not None and state not in UNFINISHED:
                pairs = _pairs(xml, unit, target)
            review = UNREVIEWED.fullmatch(unit.attribute("subState") or state)
            line = xml.content.line(unit.start)
            yield Translated(languages, line, pairs, is_reviewed=not review)


def _pairs(xml: Xml, unit: Element, target: Element) -> list[tuple[Pieces, Pieces]]:
    """The sentences into which another program has cut both sides, or all of the unit."""
    sides = [unit.child("seg-source") or unit.child("source"), target]
    whole = [inline(xml, each, PAIRED) for each in sides if each is not None]
    first, second = (
        {
            each.attribute("mid"): inline(xml, each, PAIRED)
            for each in (side.all("mrk") if side else ())
            if each.attribute("mtype") == "seg"
        }
        for side in sides
    )
    if first and first.keys() == second.keys():
        return [(pieces, second[mid]) for mid, pieces in first.items()]
    return [(whole[0], whole[1])] if target.text.strip() else []


def state_of(unit: Element) -> str:
    target = unit.child("target")
    return (target.attribute("state") if target else "") or unit.attribute("state")


def _units(root: Element) -> Iterator[tuple[Element, Element, str]]:
    """What has a source and a target, and is to be translated: trans-unit in 1.2, segment in 2.x,
    with the unit that it is or is in, and what names it.
    """
    waiting = [(root, root, "", True)]
    while waiting:
        found, unit, key, wanted = waiting.pop()
        wanted = {"no": False, "yes": True}.get(found.attribute("translate"), wanted)
        if found.name in ("file", "group", "unit", "trans-unit", "segment"):
            name = found.attribute("original") or found.attribute("id")
            key = f"{key}/{name}" if name else key
        if found.name in ("unit", "trans-unit"):
            unit = found
        if found.name in ("trans-unit", "segment"):
            if wanted:
                yield found, unit, key
        else:
            waiting += [(each, unit, key, wanted) for each in reversed(found.elements)]


def _segments_of(
    xml: Xml, unit: Element, key: str, segments: Segments
) -> list[tuple[Element, int]]:
    """The parts of a unit, each with its segment: all of its source, or the sentences into which
    another program has cut it.
    """
    source, cut = unit.child("source"), unit.child("seg-source")
    sentences = [
        each for each in (cut.all("mrk") if cut else ()) if each.attribute("mtype") == "seg"
    ]
    target = unit.child("target")
    done = unit.attribute("approved") == "yes" or (
        target is not None and bool(target.text.strip()) and state_of(unit) not in UNFINISHED
    )
    found = []
    for number, part in enumerate(sentences or [source]):
        assert part is not None
        pieces = inline(xml, part, PAIRED)
        if has_words(words_of(pieces)):
            line = xml.content.line(part.start)
            found.append((part, segments.add(pieces, line, f"{key}\5{number}", done)))
    return found


def inline(xml: Xml, element: Element, paired: frozenset[str]) -> Pieces:
    """What is inside an element: its text, and its elements as codes."""
    pieces: list[Piece] = []
    count = 0

    def visit(inner: Element) -> None:
        nonlocal count
        for each in inner.children:
            if isinstance(each, Characters):
                pieces.append(each.text)
                continue
            count += 1
            number, text = count, xml.content.text
            if (
                isinstance(each, Element)
                and each.name in paired
                and each.inside < each.outside
                and each.attribute("translate") != "no"
                and each.attribute("mtype") != "protected"
            ):
                pieces.append(Code("open", text[each.start : each.inside], number))
                visit(each)
                pieces.append(Code("close", text[each.outside : each.end], number))
            else:
                shown = placeholder(each) if isinstance(each, Element) else ""
                pieces.append(Code("alone", text[each.start : each.end], number, shown))

    visit(element)
    return tuple(pieces)


def placeholder(element: Element) -> str:
    """The placeholder that an element without a text of its own stands for, as `%s` or `{name}`."""
    for text in (*map(element.attribute, ("equiv-text", "disp", "equiv")), element.text):
        parts = protect(text).parts
        if len(parts) == 1 and isinstance(parts[0], Mark) and parts[0].word:
            return text
    return ""


def as_xml(pieces: Pieces) -> str:
    return "".join(escaped(each) if isinstance(each, str) else each.raw for each in pieces)


def _edits(
    xml: Xml,
    unit: Element,
    parts: list[tuple[Element, int]],
    translations: Translations,
    notes: Notes,
) -> Iterator[Edit]:
    text = xml.content.text
    source, target = unit.child("source"), unit.child("target")
    assert source is not None
    whole = unit.child("seg-source") or source
    filled, done = [], whole.inside
    if parts[0][0] is whole:
        filled.append(as_xml(translations[parts[0][1]]))
    else:
        for part, number in parts:
            new = as_xml(translations[number]) if number in translations else ""
            filled += [text[done : part.inside], new or text[part.inside : part.outside]]
            done = part.outside
        filled.append(text[done : whole.outside])
    inner = "".join(filled)
    tag = text[source.start : source.inside]
    prefix = tag[1 : tag.index("source")]
    before = text[: source.start]
    space = before[len(before.rstrip()) :]
    version, state = notes.version, notes.state
    beside = notes.beside(prefix, space, inner)
    if version == "1":
        yield from old_notes(xml, unit)
    else:
        opening = text[unit.start : unit.inside]
        yield Edit(unit.start, unit.inside, _with(opening, state))
    if target is None:
        opening = _with(f"<{prefix}target>", state if version == "1" else {})
        new = f"{space}{opening}{inner}</{prefix}target>"
        yield Edit(whole.end, whole.end, new + beside)
        return
    opening = text[target.start : target.inside]
    if target.inside == target.end:  # <target/>
        opening = opening[:-2].rstrip() + ">"
    if version == "1":
        opening = _with(opening, state)
    yield Edit(target.start, target.end, f"{opening}{inner}</{prefix}target>{beside}")


def _with(opening: str, attributes: Mapping[str, str]) -> str:
    """A tag with these attributes, instead of others of their names or none."""
    for name, value in attributes.items():
        new = f' {name}="{value}"'
        changed, count = re.subn(rf"""\s{name}\s*=\s*("[^"]*"|'[^']*')""", new, opening)
        opening = changed if count else f"{opening[:-1]}{new}>"
    return opening
