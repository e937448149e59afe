"""A known translation of a text with tags, for the same text with tags of another program.

Texts are the same if their words and placeholders are, and tags stand in the same places: a memory
that has `Click <b>here</b>` knows a paragraph in which a word processor made `here` bold. What is
called a tag here are all marks that do not stand for words.
"""

import re
from collections.abc import Iterator, Sequence

from regard.text.marks import Mark, MarkedText
from regard.text.protect import protect


def tags(text: MarkedText) -> list[Mark]:
    return [mark for mark in text.marks if not mark.word]


def bare(text: str) -> str:
    """A text without its tags, as a model reads it."""
    if "<" not in text:
        return text
    return protect(text).without_tags


def shape(text: MarkedText) -> str:
    """The text with its tags as numbers; it is the same for all that it can answer."""
    numbers = iter(partners(tags(text)))
    parts = []
    for part in text.parts:
        if isinstance(part, str) or part.word:
            parts.append(part if isinstance(part, str) else part.text)
        else:
            parts.append(f"\0{part.kind}{next(numbers)}\0")
    return "".join(parts)


def partners(found: Sequence[Mark]) -> list[int]:
    """For each tag the place of what it belongs to: of what opened it, or its own."""
    waiting: list[int] = []
    places = []
    for place, mark in enumerate(found):
        opened = next((at for at in reversed(waiting) if found[at].name == mark.name), None)
        if mark.kind == "close" and opened is not None:
            waiting.remove(opened)
            places.append(opened)
        else:
            places.append(place)
            if mark.kind == "open":
                waiting.append(place)
    return places


def carried(source: str, target: str, text: MarkedText) -> MarkedText | None:
    """The translation of a text, which has the shape of the known source: the known target with
    the tags and placeholders of the text. None if the target does not have exactly these.
    """
    there = protect(target)
    order = same_tags(tags(protect(source)), tags(there))
    own = tags(text)
    if order is None or len(order) != len(own):
        return None
    numbers = iter(order)
    parts: list[str | Mark] = []
    for part in there.parts:
        if isinstance(part, Mark) and not part.word:
            parts.append(own[next(numbers)])
        else:
            parts.append(part if isinstance(part, str) else part.text)
    joined = text.with_parts(parts)
    words = [mark for mark in text.marks if mark.word]
    found = joined.with_parts([*with_words(joined.parts, words)])
    return found if len(found.marks) == len(text.marks) else None


def same_tags(source: Sequence[Mark], target: Sequence[Mark]) -> list[int] | None:
    """The place in the source of each tag of a target; None if these are not the same ones."""
    opened, opened_there = partners(source), partners(target)
    closes = {first: at for at, first in enumerate(opened) if first != at}
    free = [at for at, first in enumerate(opened) if first == at]
    found: list[int] = []
    for at, mark in enumerate(target):
        if opened_there[at] != at:
            place = closes.pop(found[opened_there[at]], None)
        else:
            same = (each for each in free if source[each].text == mark.text)
            place = next(same, None)
            if place is not None:
                free.remove(place)
        if place is None:
            return None
        found.append(place)
    return found if not free and not closes else None


def with_words(parts: Sequence[str | Mark], words: Sequence[Mark]) -> Iterator[str | Mark]:
    """The parts with these placeholders found in their texts, each as often as it is among them."""
    waiting = list(words)
    longest_first = sorted({re.escape(mark.text) for mark in words}, key=len, reverse=True)
    pattern = re.compile("|".join(longest_first)) if words else None
    for part in parts:
        if isinstance(part, Mark) or pattern is None:
            yield part
            continue
        done = 0
        for match in pattern.finditer(part):
            mark = next((each for each in waiting if each.text == match[0]), None)
            if mark is not None:
                waiting.remove(mark)
                yield part[done : match.start()]
                yield mark
                done = match.end()
        yield part[done:]
