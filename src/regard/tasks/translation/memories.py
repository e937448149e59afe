"""The translation memory of a translation, as people give it, and what is taken from it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from regard.errors import RequestError, shown
from regard.tasks.translation.glossaries import GivenGlossary, glossary_from
from regard.text.documents.document import Pieces, as_text
from regard.text.documents.sentences import marked, unmarked
from regard.text.glossary import NO_TERMS, Glossary
from regard.text.memory import USUAL, Match, Memory

T = TypeVar("T")
GivenMemory = Memory | Iterable[tuple[str, str]] | Path | str | None


@dataclass(frozen=True)
class Aids:
    """What helps a translator: terms and their translations, and a memory of texts, of which those
    count that are this many percent the same.
    """

    glossary: Glossary = NO_TERMS
    memory: Memory | None = None
    min_match: int = USUAL


def memory_from(given: GivenMemory, languages: tuple[str, str] | None) -> Memory | None:
    """A memory from its file, or from pairs of texts."""
    if given is None or isinstance(given, Memory):
        return given
    if isinstance(given, Path | str):
        from regard.data.memories import read_memory

        return read_memory([Path(given)], languages)
    try:
        return Memory((source, target) for source, target in given)
    except (TypeError, ValueError):
        raise RequestError(
            f"memory: {shown(given)} is none; give a file, or pairs of texts"
        ) from None


NO_AIDS = Aids()


def aids_from(
    glossary: GivenGlossary,
    memory: GivenMemory,
    languages: tuple[str, str] | None,
    min_match: int = USUAL,
) -> Aids:
    return Aids(glossary_from(glossary, languages), memory_from(memory, languages), min_match)


def with_memory(
    memory: Memory | None,
    texts: Sequence[str],
    translate: Callable[[list[str]], Sequence[T]],
    taken: Callable[[Match], T],
) -> list[T]:
    """What is taken from the memory for the texts that it has, and made for all others."""
    known = {
        row: match
        for row, text in enumerate(texts)
        if memory is not None and (match := memory.exact(text)) is not None
    }
    rest = iter(translate([text for row, text in enumerate(texts) if row not in known]))
    return [taken(known[row]) if row in known else next(rest) for row in range(len(texts))]


def recalled(memory: Memory | None, pieces: Pieces) -> Pieces | None:
    """What the memory has for exactly this text, with its formatting."""
    if memory is None:
        return None
    if all(isinstance(each, str) or each.is_text for each in pieces):
        match = memory.exact(as_text(pieces))
        return None if match is None else (match.target,)
    text, codes = marked(pieces)
    found = memory.exact_marked(text)
    return None if found is None else unmarked(found, codes)
