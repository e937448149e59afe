"""Translates documents, and keeps what is done while it works.

Each batch of translations is appended to a file beside the output, OUTPUT.partial. A translation
that was stopped begins with what is there; at the end the output is written and that file removed.
"""

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
from regard.tasks.translation.confidence import Confidence, least_sure
from regard.tasks.translation.judged import JudgedText, judged_texts, write_table
from regard.tasks.translation.kept import Kept, Made, key_of
from regard.tasks.translation.marked import MarkedTranslation
from regard.tasks.translation.memories import NO_AIDS, Aids, recalled
from regard.text.documents.document import Document, Pieces, Wish, words_of
from regard.text.documents.formats import read_document
from regard.text.documents.sentences import Cut, cut, marked
from regard.text.marks import MarkedText
from regard.text.memory import Match
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

    def marked_translations(
        self, texts: Sequence[MarkedText], search: Search | None = None
    ) -> list[list[MarkedTranslation]]: ...


@dataclass(frozen=True)
class How:
    """How a document is translated: by which search, with what help, and whether it is to be said
    how sure its translations are.
    """

    search: Search
    aids: Aids = NO_AIDS
    confidence: bool = False


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
    judged : sequence of JudgedText, or None
        How sure each text is that the model translated, if that was asked for.
    table : Path or None
        The table of these, beside a document that cannot say it.
    """

    path: Path
    translated: int
    before: int
    finished: int
    terms: Sequence[TermUse] = ()
    taken: int = 0
    judged: Sequence[JudgedText] | None = None
    table: Path | None = None

    @property
    def likely_fine(self) -> int:
        """How many texts are likely fine."""
        return sum(each.verdict == "likely fine" for each in self.judged or ())

    @property
    def to_check(self) -> int:
        """How many texts are better checked."""
        return len(self.judged or ()) - self.likely_fine


def translate_segments(
    translator: TranslatesMarked, cuts: Sequence[Cut], target: str, how: How
) -> tuple[list[Made], list[TermUse]]:
    """The translation of each segment, and what became of the terms. Equal sentences are translated
    once.
    """
    found: dict[Pieces, Made | None] = {}
    for each in cuts:
        for sentence in each.sentences:
            if sentence not in found:
                known = recalled(how.aids.memory, sentence)
                found[sentence] = Made(known) if known else None
    rest = [sentence for sentence, translation in found.items() if translation is None]
    given = [marked(sentence) for sentence in rest]
    texts = [how.aids.glossary.mark(text) for text, _ in given]
    if how.confidence:
        outputs = [best for best, *_ in translator.marked_translations(texts, how.search)]
    else:
        outputs = translator.marked(texts, how.search)
    for sentence, output, (_, codes) in zip(rest, outputs, given, strict=True):
        found[sentence] = Made.of(output, codes)
    filled = []
    for each in cuts:
        parts = [made for text in each.sentences if (made := found[text])]
        pieces = each.filled({at: made.pieces for at, made in enumerate(parts)}, target)
        filled.append(Made(pieces, together(parts)))
    return filled, [term for output in outputs for term in output.terms]


def together(parts: Sequence[Made]) -> Confidence | None:
    """How sure a text is of whose sentences the model has made some."""
    return least_sure([each.confidence for each in parts if each.confidence])


def translate_file(
    translator: TranslatesMarked,
    path: Path,
    out: Path,
    wish: Wish,
    how: How | None = None,
    reporter: Reporter = SILENT,
) -> TranslatedFile:
    """Translate a document into another file, or into itself if it holds both languages."""
    how = how or How(translator.search)
    document = read_document(str(path), _bytes(path), wish)
    check_output(path, out, document, wish)
    numbers = [
        number
        for number, segment in enumerate(document.segments)
        if wish.overwrite or not segment.finished
    ]
    made = earlier(out, document, numbers, wish) if out != path else {}
    kept = Kept(out, mark_of(translator, wish, how))
    known = kept.read()
    for number in numbers:
        if number not in made and (found := known.get(key_of(document, number))):
            made[number] = found
    before = len(made)
    taken = take(document, numbers, how.aids, made)
    rest = [number for number in numbers if number not in made]
    terms: list[TermUse] = []
    with reporter.progress(path.name, len(numbers)) as advance:
        advance(len(made))
        for batch in batches(rest):
            cuts = [cut(document.segments[number], wish.source) for number in batch]
            found_now, used = translate_segments(translator, cuts, wish.target, how)
            terms += used
            made |= zip(batch, found_now, strict=True)
            kept.add({key_of(document, number): made[number] for number in batch})
            advance(len(batch))
    judged = judged_texts(document, made) if how.confidence else None
    write_file(out, document.write({number: each.pieces for number, each in made.items()}))
    table = None if judged is None or document.says_how_sure else write_table(out, judged)
    kept.remove()
    finished = len(document.segments) - len(numbers)
    return TranslatedFile(out, len(rest), before, finished, terms, taken, judged, table)


def take(document: Document, numbers: Sequence[int], aids: Aids, made: dict[int, Made]) -> int:
    """Take from the memory what it has, and note in the document what it has or has something like;
    returns how many texts were taken.
    """
    if aids.memory is None:
        return 0
    taken = 0
    for number in numbers:
        pieces = document.segments[number].pieces
        known = recalled(aids.memory, pieces)
        if known is None:
            # Files of one language have no place for what is similar.
            words = words_of(pieces) if document.is_bilingual else ""
            if similar := aids.memory.best(words, aids.min_match) if words else None:
                document.matches[number] = replace(similar, percent=min(99, similar.percent))
        elif number not in made:
            document.matches[number] = Match(words_of(pieces), words_of(known), 100)
            made[number] = Made(known)
            taken += 1
    return taken


def check_output(path: Path, out: Path, document: Document, wish: Wish) -> None:
    if out == path and not document.is_bilingual:
        raise DataError(f"{path}: would be overwritten by its translation; name another output")
    has_keys = any(segment.key for segment in document.segments)
    updates = has_keys and not document.is_bilingual
    if out != path and out.exists() and not (wish.overwrite or updates):
        raise DataError(
            f"{out}: is there already; give --overwrite to replace it, or another --out"
        )


def earlier(out: Path, document: Document, numbers: Sequence[int], wish: Wish) -> dict[int, Made]:
    """The texts of an earlier output that have the same names."""
    if wish.overwrite or document.is_bilingual or not out.is_file():
        return {}
    old = read_document(str(out), _bytes(out), replace(wish, source="", target=wish.source))
    known = {segment.key: segment.pieces for segment in old.segments if segment.key}
    found = {}
    for number in numbers:
        segment = document.segments[number]
        if (pieces := known.get(segment.key)) and pieces != segment.pieces:
            found[number] = Made(pieces)
    return found


def batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """A small batch first, so that there soon is something to see and to keep."""
    start, size = 0, FIRST_SEGMENTS
    while start < len(numbers):
        yield numbers[start : start + size]
        start, size = start + size, SEGMENTS_AT_ONCE


def mark_of(translator: TranslatesMarked, wish: Wish, how: How) -> dict[str, Any]:
    """What translations depend on beside the text."""
    weights = ""
    if translator.folder is not None:
        with suppress(RunError):
            weights = read_metadata(Run(translator.folder).model_path).get("sha256", "")
    return {
        "weights": weights,
        "search": repr(how.search),
        "target": wish.target,
        "glossary": how.aids.glossary.fingerprint,
        "memory": how.aids.memory.fingerprint if how.aids.memory else "",
        "confidence": how.confidence,
    }


def _bytes(path: Path) -> bytes:
    check_place(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
