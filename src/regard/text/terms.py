"""Checks that a translation has the terms of its glossary, and writes those that it lacks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from regard.text.glossary import occurrences
from regard.text.marks import Mark, Term


@dataclass(frozen=True)
class TermUse:
    """A term of a source in its translation: the model wrote it, or it was put where the words are
    that the model wrote instead, or nobody knows where that is.
    """

    source: str
    target: str
    found: Literal["written", "replaced", "missing"]


def settled(
    parts: Sequence[str | Mark], *, replaces: bool
) -> tuple[list[str | Mark], list[TermUse]]:
    """The parts of a translation without the marks of terms, and what became of the terms. If it
    `replaces`, those that are missing are written where their marks are.
    """
    result = [*parts]
    stretches = stretches_of(result)
    if not stretches:
        return result, []
    whole = "".join(part for part in result if isinstance(part, str))
    inside = [occurrences(text_of(result, each), each.term) for each in stretches]
    # What is written elsewhere: the marks may be at the wrong words.
    spare = {each.term.target: occurrences(whole, each.term) for each in stretches}
    spare = Counter(spare)
    for each, count in zip(stretches, inside, strict=True):
        spare[each.term.target] -= bool(count)
    uses = []
    for each, count in zip(stretches, inside, strict=True):
        found: Literal["written", "replaced", "missing"] = "written"
        if not count and spare[each.term.target] > 0:
            spare[each.term.target] -= 1
        elif not count:
            found = "replaced" if replaces else "missing"
            if replaces:
                write(result, each)
        uses.append(TermUse(each.term.source, each.term.target, found))
    return [part for part in result if not (isinstance(part, Mark) and part.term)], uses


@dataclass(frozen=True)
class Stretch:
    """A term, and the numbers of the parts between which its words are."""

    term: Term
    first: int
    last: int


def stretches_of(parts: Sequence[str | Mark]) -> list[Stretch]:
    opened: dict[str, tuple[Term, int]] = {}
    found = []
    for at, part in enumerate(parts):
        if isinstance(part, Mark) and part.term:
            if part.kind == "open":
                opened[part.name] = part.term, at + 1
            else:
                found.append(Stretch(*opened.pop(part.name), at))
    return found


def text_of(parts: Sequence[str | Mark], stretch: Stretch) -> str:
    inside = parts[stretch.first : stretch.last]
    return "".join(part for part in inside if isinstance(part, str))


def write(parts: list[str | Mark], stretch: Stretch) -> None:
    """Write the target of a term instead of the words of its stretch."""
    before = "".join(part for part in parts[: stretch.first] if isinstance(part, str))
    after = "".join(part for part in parts[stretch.last :] if isinstance(part, str))
    was, target = text_of(parts, stretch), stretch.term.target
    is_first = not any(map(str.isalnum, before))
    if is_first and was[:1].isupper() and target != stretch.term.source:
        target = target[:1].upper() + target[1:]
    if not was:  # it stands between two words
        target = " " * before[-1:].isalnum() + target + " " * after[:1].isalnum()
    for at in range(stretch.first, stretch.last):
        if isinstance(parts[at], str):
            parts[at], target = target, ""
    if target:
        mark = parts[stretch.first - 1]
        assert isinstance(mark, Mark)
        parts[stretch.first - 1] = target
