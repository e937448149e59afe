"""Translates documents, and keeps what is done while it works.

Each batch of translations is appended to a file beside the output, OUTPUT.partial. A translation
that was stopped begins with what is there; at the end the output is written and that file removed.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from regard.data.lines import check_place
from regard.decode.search import Search
from regard.errors import DataError, RunError
from regard.files import read_metadata, write_file
from regard.reporter import SILENT, Reporter
from regard.run import Run
from regard.tasks.translation.marked import MarkedTranslation
from regard.tasks.translation.memories import NO_AIDS, Aids
from regard.text.documents.document import Code, Document, Pieces, Wish, as_text, words_of
from regard.text.documents.formats import read_document
from regard.text.documents.sentences import Cut, cut, marked, unmarked
from regard.text.marks import MarkedText
from regard.text.memory import Match, Memory
from regard.text.terms import TermUse

# Segments that are translated together, and kept together.
SEGMENTS_AT_ONCE = 256
FIRST_SEGMENTS = 32


class TranslatesMarked(Protocol):
    search: Search
    folder: Path | None

    def marked(
        self, texts: Sequence[MarkedText], search: Search | None = None
    ) -> list[MarkedTranslation]: ...


@dataclass(frozen=True)
class TranslatedFile:
    """What became of a document.

    Attributes
    ----------
    path : Path
        The translated document.
    translated : int
        How many of its texts were translated now.
    before : int
        How many were translated before this call, by one that was stopped or in an earlier output.
    finished : int
        How many were finished in the document.
    terms : sequence of TermUse
        What became of the terms of a glossary in the texts that were translated now.
    taken : int
        How many texts were in the memory.
    """

    path: Path
    translated: int
    before: int
    finished: int
    terms: Sequence[TermUse] = ()
    taken: int = 0


def translate_segments(
    translator: TranslatesMarked,
    cuts: Sequence[Cut],
    search: Search,
    target: str,
    aids: Aids = NO_AIDS,
) -> tuple[list[Pieces], list[TermUse]]:
    """The translation of each segment, and what became of the terms. Equal sentences are translated
    once.
    """
    found: dict[Pieces, Pieces | None] = {}
    for each in cuts:
        for sentence in each.sentences:
            if sentence not in found:
                match = recalled(aids.memory, sentence)
                found[sentence] = (match.target,) if match else None
    rest = [sentence for sentence, translation in found.items() if translation is None]
    given = [marked(sentence) for sentence in rest]
    outputs = translator.marked([aids.glossary.mark(text) for text, _ in given], search)
    for sentence, output, (_, codes) in zip(rest, outputs, given, strict=True):
        found[sentence] = unmarked(output.text, codes)
    filled = [
        each.filled(
            {number: found[text] or () for number, text in enumerate(each.sentences)}, target
        )
        for each in cuts
    ]
    return filled, [term for output in outputs for term in output.terms]


def translate_file(
    translator: TranslatesMarked,
    path: Path,
    out: Path,
    wish: Wish,
    search: Search | None = None,
    aids: Aids = NO_AIDS,
    reporter: Reporter = SILENT,
) -> TranslatedFile:
    """Translate a document into another file, or into itself if it holds both languages."""
    document = read_document(str(path), _bytes(path), wish)
    check_output(path, out, document, wish)
    numbers = [
        number
        for number, segment in enumerate(document.segments)
        if wish.overwrite or not segment.finished
    ]
    translations = earlier(out, document, numbers, wish) if out != path else {}
    kept = Kept(out, mark_of(translator, search or translator.search, wish, aids))
    known = kept.read()
    for number in numbers:
        if number not in translations and (found := known.get(_key(document, number))):
            translations[number] = found
    before = len(translations)
    taken = take(document, numbers, aids, translations)
    rest = [number for number in numbers if number not in translations]
    terms: list[TermUse] = []
    with reporter.progress(path.name, len(numbers)) as advance:
        advance(len(translations))
        for batch in batches(rest):
            cuts = [cut(document.segments[number], wish.source) for number in batch]
            found_now, used = translate_segments(
                translator, cuts, search or translator.search, wish.target, aids
            )
            terms += used
            for number, pieces in zip(batch, found_now, strict=True):
                translations[number] = pieces
            kept.add({_key(document, number): translations[number] for number in batch})
            advance(len(batch))
    write_file(out, document.write(translations))
    kept.remove()
    finished = len(document.segments) - len(numbers)
    return TranslatedFile(out, len(rest), before, finished, terms, taken)


def take(
    document: Document, numbers: Sequence[int], aids: Aids, translations: dict[int, Pieces]
) -> int:
    """Take from the memory what it has, and note in the document what it has or has something like;
    returns how many texts were taken.
    """
    if aids.memory is None:
        return 0
    taken = 0
    for number in numbers:
        pieces = document.segments[number].pieces
        match = recalled(aids.memory, pieces)
        if match is None:
            # Files of one language have no place for what is similar.
            words = words_of(pieces) if document.is_bilingual else ""
            if similar := aids.memory.best(words, aids.min_match) if words else None:
                document.matches[number] = replace(similar, percent=min(99, similar.percent))
        elif number not in translations:
            document.matches[number] = match
            translations[number] = (match.target,)
            taken += 1
    return taken


def recalled(memory: Memory | None, pieces: Pieces) -> Match | None:
    """What the memory has for exactly this text, which has no formatting."""
    if memory is None or any(isinstance(each, Code) and not each.is_text for each in pieces):
        return None
    return memory.exact(as_text(pieces))


def check_output(path: Path, out: Path, document: Document, wish: Wish) -> None:
    if out == path and not document.is_bilingual:
        raise DataError(f"{path}: would be overwritten by its translation; name another output")
    has_keys = any(segment.key for segment in document.segments)
    updates = has_keys and not document.is_bilingual
    if out != path and out.exists() and not (wish.overwrite or updates):
        raise DataError(
            f"{out}: is there already; give --overwrite to replace it, or another --out"
        )


def earlier(out: Path, document: Document, numbers: Sequence[int], wish: Wish) -> dict[int, Pieces]:
    """The texts of an earlier output that have the same names."""
    if wish.overwrite or document.is_bilingual or not out.is_file():
        return {}
    old = read_document(str(out), _bytes(out), replace(wish, source="", target=wish.source))
    known = {segment.key: segment.pieces for segment in old.segments if segment.key}
    found = {}
    for number in numbers:
        segment = document.segments[number]
        if (pieces := known.get(segment.key)) and pieces != segment.pieces:
            found[number] = pieces
    return found


def batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """A small batch first, so that there soon is something to see and to keep."""
    start, size = 0, FIRST_SEGMENTS
    while start < len(numbers):
        yield numbers[start : start + size]
        start, size = start + size, SEGMENTS_AT_ONCE


class Kept:
    """The file of translations of an output that is not complete. Only lines that another call of
    the same model and search has written are read.
    """

    def __init__(self, out: Path, mark: dict[str, Any]) -> None:
        self.path = out.with_name(f"{out.name}.partial")
        self._mark = mark
        self._is_ours = False

    def read(self) -> dict[str, Pieces]:
        try:
            lines = self.path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return {}
        found: dict[str, Pieces] = {}
        with suppress(ValueError, TypeError, LookupError):  # the last line may be half a line
            self._is_ours = bool(lines) and json.loads(lines[0]) == self._mark
            for line in lines[1:] if self._is_ours else ():
                key, pieces = json.loads(line)
                found[key] = tuple(p if isinstance(p, str) else Code(*p) for p in pieces)
        return found

    def add(self, translations: dict[str, Pieces]) -> None:
        try:
            with self.path.open("a" if self._is_ours else "w", encoding="utf-8") as file:
                if not self._is_ours:
                    file.write(json.dumps(self._mark) + "\n")
                for key, pieces in translations.items():
                    file.write(json.dumps([key, _plain(pieces)]) + "\n")
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot be written ({error.strerror}); put that right and run the "
                "same command"
            ) from None
        self._is_ours = True

    def remove(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def mark_of(translator: TranslatesMarked, search: Search, wish: Wish, aids: Aids) -> dict[str, Any]:
    """What translations depend on beside the text."""
    weights = ""
    if translator.folder is not None:
        with suppress(RunError):
            weights = read_metadata(Run(translator.folder).model_path).get("sha256", "")
    return {
        "weights": weights,
        "search": repr(search),
        "target": wish.target,
        "glossary": aids.glossary.fingerprint,
        "memory": aids.memory.fingerprint if aids.memory else "",
    }


def _key(document: Document, number: int) -> str:
    return json.dumps(_plain(document.segments[number].pieces), ensure_ascii=False)


def _plain(pieces: Pieces) -> list[Any]:
    return [
        [each.kind, each.raw, each.number, each.shown] if isinstance(each, Code) else each
        for each in pieces
    ]


def _bytes(path: Path) -> bytes:
    check_place(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
