"""A glossary: how words of a text are to be written in its translation.

Terms are found as whole words, the longest first. An entry in small letters is also found in
capitals; one with a capital is found only as it is written.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from regard.text.marks import Mark, MarkedText, Term

# Letters of languages without spaces between words.
UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_UNIT = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+|[^\w\s]")
_UNSPACED = re.compile(rf"[{UNSPACED}]")
# The most letters of an ending that makes a form of a word, and the fewest letters of such a word.
LONGEST_ENDING, SHORTEST_WORD = 2, 4


@dataclass(frozen=True)
class Found:
    """Where a term is in a text."""

    start: int
    end: int
    term: Term


@dataclass(frozen=True)
class Glossary:
    """Entries by the words of the source. One that stays as it is has itself as its target."""

    entries: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.entries)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all entries."""
        return hashlib.sha256(repr(sorted(self.entries.items())).encode()).hexdigest()

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """How many units the entries have that begin with a unit, the most first."""
        found: dict[str, set[int]] = defaultdict(set)
        for source in self.entries:
            units = units_of(source.casefold())
            if units:
                found[units[0]].add(len(units))
        return {first: sorted(lengths, reverse=True) for first, lengths in found.items()}

    @cached_property
    def _in_small_letters(self) -> dict[str, str]:
        return {source.casefold(): source for source in self.entries if source.islower()}

    def find(self, text: str) -> Iterator[Found]:
        """The terms of a text, in order; none overlaps another."""
        places = [match.span() for match in _UNIT.finditer(text)]
        at = 0
        while at < len(places):
            start, end = places[at]
            step = 1
            for count in self._lengths.get(text[start:end].casefold(), ()):
                if at + count > len(places):
                    continue
                last = places[at + count - 1][1]
                if (source := self._entry(given := text[start:last])) is not None:
                    yield Found(start, last, Term(given, as_given(self.entries[source], given)))
                    step = count
                    break
            at += step

    def _entry(self, given: str) -> str | None:
        """The entry that these words of a text are."""
        given = " ".join(given.split())
        return given if given in self.entries else self._in_small_letters.get(given.casefold())

    def mark(self, text: MarkedText) -> MarkedText:
        """The text with marks around its terms."""
        if not self.entries:
            return text
        parts: list[str | Mark] = []
        for part in text.parts:
            if isinstance(part, Mark):
                parts.append(part)
                continue
            done = 0
            for found in self.find(part):
                name = f"term {len(parts)}"
                opening = Mark("", "open", name, term=found.term)
                closing = replace(opening, kind="close")
                parts += [part[done : found.start], opening]
                parts += [part[found.start : found.end], closing]
                done = found.end
            parts.append(part[done:])
        return text.with_parts(parts)


NO_TERMS = Glossary()


def units_of(term: str) -> list[str]:
    """Its words and marks."""
    return _UNIT.findall(term)


def as_given(target: str, given: str) -> str:
    """The target in capitals where all of the source is, although the entry is not."""
    in_capitals = len(given) > 1 and given.isupper() and target.islower()
    return target.upper() if in_capitals else target


def occurrences(text: str, term: Term) -> int:
    """How often the target of a term is in a text, as it is or, if it is a translation, with an
    ending.
    """
    return len(pattern(term).findall(text))


def pattern(term: Term) -> re.Pattern[str]:
    target = term.target
    first, last = re.escape(target[:1]), ""
    if target.islower() and target != term.source:
        first = f"[{first}{re.escape(target[:1].upper())}]"
    ending = re.search(rf"[^\W\d_{UNSPACED}]+$", target)
    if target != term.source and ending and len(ending[0]) >= SHORTEST_WORD:
        last = rf"[^\W\d_]{{0,{LONGEST_ENDING}}}"
    before = "" if _UNSPACED.match(target[:1]) or not is_word(target[:1]) else r"(?<!\w)"
    after = "" if _UNSPACED.match(target[-1:]) or not is_word(target[-1:]) else r"(?!\w)"
    return re.compile(before + first + re.escape(target[1:]) + last + after)


def is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def terms_of(text: MarkedText) -> list[Term]:
    """The terms that are marked in a text."""
    return [mark.term for mark in text.marks if mark.term and mark.kind == "open"]


def with_targets(text: MarkedText) -> MarkedText:
    """The text with the target of each marked term instead of its words."""
    parts: list[str | Mark] = []
    term: Term | None = None
    for part in text.parts:
        if isinstance(part, Mark):
            if part.term:
                term = part.term if part.kind == "open" else None
            parts.append(part)
        else:
            parts.append(term.target if term else part)
    return text.with_parts(parts)


def glossary_of(entries: Iterable[tuple[str, str]]) -> Glossary:
    """A glossary of pairs. An empty target, or one like the source, stays as it is; of several
    entries for the same words the first counts.
    """
    found: dict[str, str] = {}
    for source, target in entries:
        source, target = " ".join(source.split()), " ".join(target.split())
        if source:
            found.setdefault(source, target or source)
    return Glossary(found)
