"""PO and XLIFF files as pairs: the entries in them that are finished.

Obsolete, empty and fuzzy entries, and those that wait for a review, are left out and counted. A
pair is on one line. Placeholders stay in the text; other codes of a program are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from regard.data.lines import chunks, kind_of
from regard.errors import DataError
from regard.text.documents.document import Pieces
from regard.text.documents.formats import MOST_BYTES
from regard.text.documents.plurals import form_of
from regard.text.documents.po_entries import Catalogue, Entry
from regard.text.documents.sentences import marked
from regard.text.documents.tagged import tagged_pair
from regard.text.documents.xliff import translated_units
from regard.text.languages import NAMES, base_code

Languages = tuple[str, str]

OBSOLETE, EMPTY, FUZZY, UNREVIEWED = "obsolete", "without a translation", "fuzzy", "to be reviewed"
# Messages are English by the convention of gettext, and the header names the other language alone.
USUAL_SOURCE = "en"
# Of plural forms, the one beside this number goes with the plural of the source.
SEVERAL = 5
_SPACES = str.maketrans("\t\n\r", "   ")


@dataclass
class TranslationFile:
    """What a file holds: source, target and line of each finished entry. Of its languages, "" is
    one that it does not name; `is_assumed` says that its source is English by convention.
    """

    path: Path
    languages: Languages = ("", "")
    is_assumed: bool = False
    with_tags: bool = False  # as <1> and </1>; else they are left out
    pairs: list[tuple[str, str, int]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    @classmethod
    def read(cls, path: Path, with_tags: bool = False) -> TranslationFile:
        data = bytearray()
        for chunk in chunks(path):
            data += chunk
            if len(data) > MOST_BYTES:
                raise DataError(
                    f"{path}: is larger than {MOST_BYTES >> 20} MiB; cut it into smaller files"
                )
        return READERS[kind_of(path)](cls(path, with_tags=with_tags), bytes(data))

    def add(self, source: str, target: str, line: int) -> None:
        source, target = (text.translate(_SPACES).strip() for text in (source, target))
        if source and target:
            self.pairs.append((source, target, line))
        else:
            self.left_out[EMPTY] += 1

    def remark(self) -> str:
        count = len(self.pairs)
        said = f"{self.path}: {count:,} finished {'entry' if count == 1 else 'entries'}"
        if self.left_out:
            reasons = (f"{number:,} {reason}" for reason, number in self.left_out.most_common())
            said += f"; left out: {', '.join(reasons)}"
        return f"{said}; taken to be from English" if self.is_assumed else said


def two_texts(
    path: Path, wanted: Languages | None = None, with_tags: bool = False
) -> Iterator[tuple[str, str, str]]:
    """Source, target and place of each finished entry, in the direction that is asked for."""
    found = TranslationFile.read(path, with_tags)
    if not found.pairs:
        raise DataError(f"{found.remark()}; give a file with finished translations")
    turned = wanted is not None and is_turned(found, wanted)
    for source, target, line in found.pairs:
        yield (*((target, source) if turned else (source, target)), f"{path}:{line}")


def is_turned(found: TranslationFile, wanted: Languages) -> bool:
    """Whether the file translates in the other direction; one of other languages is refused."""
    source, target = found.languages
    first = "" if found.is_assumed else source
    for alike in (_equal, _related):
        if alike(first, wanted[0]) and alike(target, wanted[1]):
            return False
        if alike(first, wanted[1]) and alike(target, wanted[0]):
            return True
    raise DataError(
        f"{found.path}: translates {source or '?'} → {target or '?'}, but {wanted[0]} → "
        f"{wanted[1]} is asked for; give a file of these languages, or name its own"
    )


def _equal(found: str, wanted: str) -> bool:
    return not found or found.replace("_", "-").lower() == wanted.replace("_", "-").lower()


def _related(found: str, wanted: str) -> bool:
    return not found or base_code(found) == base_code(wanted)


def languages_of_file(path: Path) -> Languages | None:
    """The languages of a file, if both are known."""
    source, target = TranslationFile.read(path).languages
    return (source, target) if source and target else None


def of_po(found: TranslationFile, data: bytes) -> TranslationFile:
    catalogue = Catalogue.of(str(found.path), data)
    source = catalogue.facts.get("x-source-language", "")
    target = catalogue.facts.get("language", "") or code_in_name(found.path)
    found.is_assumed = bool(target) and not source and base_code(target) != USUAL_SOURCE
    found.languages = (USUAL_SOURCE if found.is_assumed else source, target)
    found.left_out[OBSOLETE] += catalogue.obsolete
    rule = catalogue.plural_forms(target)
    one, several = form_of(1, rule), form_of(SEVERAL, rule)
    for entry in catalogue.messages:
        line = catalogue.content.line(entry.start)
        if entry.is_fuzzy:
            found.left_out[FUZZY] += 1
            continue
        for source_text, form in texts_of(entry, one, several):
            there = entry.forms.get(form)
            found.add(source_text, there.text if there else "", line)
    found.left_out = +found.left_out
    return found


def texts_of(entry: Entry, one: int, several: int) -> list[tuple[str, int]]:
    """The texts of an entry, each with the number of its translation: the singular with the form
    of 1, the plural with that of several. Where these are one form, there is the plural alone.
    """
    plural = entry.fields.get("msgid_plural")
    if plural is None:
        return [(entry.source, 0)]
    both = [(entry.source, one), (plural.text, several)]
    return both[one == several :]


def code_in_name(path: Path) -> str:
    """The language that a file is named after: de of de.po and of app.de.po."""
    stem = path.name.lower().split(".po")[0].replace("-", ".").split(".")[-1]
    return stem if base_code(stem) in NAMES else ""


def of_xliff(found: TranslationFile, data: bytes) -> TranslationFile:
    languages: list[Languages] = []
    for unit in translated_units(str(found.path), data):
        if unit.languages not in languages:
            languages.append(unit.languages)
        if not unit.pairs:
            found.left_out[EMPTY] += 1
        elif not unit.is_reviewed:
            found.left_out[UNREVIEWED] += 1
        else:
            for source, target in unit.pairs:
                if found.with_tags:
                    found.add(*tagged_pair(source, target), unit.line)
                else:
                    found.add(plain(source), plain(target), unit.line)
    if len(languages) > 1:
        named = ", ".join(" → ".join(each) for each in languages)
        raise DataError(f"{found.path}: holds {named}; give a file of one pair of languages")
    found.languages = languages[0] if languages else ("", "")
    return found


def plain(pieces: Pieces) -> str:
    """The text as a translator reads it: with the codes that stand for words."""
    text, _ = marked(pieces)
    return text.without_tags


READERS: dict[str, Callable[[TranslationFile, bytes], TranslationFile]] = {
    ".po": of_po,
    ".xlf": of_xliff,
    ".xliff": of_xliff,
}
