"""Translates texts with marks: tags and placeholders come through unchanged, and terms are written
as a glossary has them.

Marks that stand for words are shown to the model as they are written. Where its output does not
have exactly these, the text is translated once more without them. All other marks are left out, and
put back where the words stand that they belong to, by the model's own attention. A model that has
learned to read terms is shown their translations first.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from regard.tasks.translation.translation import Translation
from regard.text.glossary import terms_of, with_targets
from regard.text.marks import Mark, MarkedText
from regard.text.projection import MOST_MARKS, Source, project
from regard.text.protect import SIGNS, protect
from regard.text.terms import TermUse, settled
from regard.text.units import Unit, linked, over_units, units

# How the marks of a translation found their places: the model wrote them, or there were none;
# attention says which words they belong to; or by their place in the source alone.
Placing = Literal["kept", "aligned", "guessed"]
# Longer marks are never shown to the model.
LONGEST_SHOWN = 60

Attention = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Output:
    """What a model made of a text, with its attention over pieces if that was asked for, and its
    scores if these were.
    """

    text: str
    attention: Attention | None = None
    source_pieces: Sequence[tuple[int, int]] = ()
    pieces: Sequence[tuple[int, int]] = ()
    scored: Translation | None = None

    def word_links(self, source: str) -> list[tuple[int, int]]:
        """The source word that each word comes from most, by attention: (source word, word)."""
        if self.attention is None:
            return []
        found, there = words(self.text), words(source)
        weights = over_units(self.attention, self.pieces, found, self.source_pieces, there)
        return [(int(row.argmax()), at) for at, row in enumerate(weights) if row.any()]


def words(text: str) -> list[Unit]:
    """The words of a text, which are separated by white space."""
    return [Unit(*each.span(), each[0]) for each in re.finditer(r"\S+", text)]


@dataclass(frozen=True)
class MarkedTranslation:
    """A translation with the marks of its source. `read` is the text as the model read it, and
    `output` what it made of that; nothing where the text stays as it is. `terms` are those of the
    source.
    """

    text: MarkedText
    placing: Placing
    read: str = ""
    output: Output = Output("")
    terms: Sequence[TermUse] = ()

    def __str__(self) -> str:
        return str(self.text)


class Written(NamedTuple):
    """A part of a text and its translation, with attention [pieces, source pieces] or without."""

    source_places: Sequence[tuple[int, int]]
    text: str
    places: Sequence[tuple[int, int]]
    attention: Attention | None


def joined(parts: Sequence[Written]) -> Output:
    """The output of a text that was translated in parts. Attention never leaves its part."""
    text = ""
    rows: list[tuple[int, int]] = []
    columns: list[tuple[int, int]] = []
    blocks: list[Attention] = []
    for part in parts:
        if part.text:
            text += " " if text else ""
            rows += [(start + len(text), end + len(text)) for start, end in part.places]
            text += part.text
        columns += part.source_places
        if part.attention is not None:
            blocks.append(part.attention[: len(part.places) if part.text else 0])
    if len(blocks) < len(parts) or not parts:
        return Output(text)
    attention = np.zeros((len(rows), len(columns)), np.float32)
    row = column = 0
    for block in blocks:
        height, width = block.shape
        attention[row : row + height, column : column + width] = block
        row, column = row + height, column + width
    return Output(text, attention, columns, rows)


# Translates texts; the flags say for which the attention is wanted.
Translate = Callable[[Sequence[str], Sequence[bool]], Sequence[Output]]
# The same with several outputs of each text, the best first.
TranslateRanked = Callable[[Sequence[str], Sequence[bool]], Sequence[Sequence[Output]]]


@dataclass(frozen=True)
class Draft:
    """A text as it is shown to the model, and which of its marks are."""

    marked: MarkedText
    shown: tuple[str, ...]  # what each mark is shown as, "" for not at all
    shows_targets: bool = False  # of terms; then the model has to write them

    @classmethod
    def of(cls, marked: MarkedText, *, with_words: bool, shows_targets: bool = False) -> "Draft":
        def shows(mark: Mark) -> bool:
            return with_words and mark.word and len(mark.text) <= LONGEST_SHOWN

        shown = tuple(mark.text if shows(mark) else "" for mark in marked.marks)
        return cls(with_targets(marked) if shows_targets else marked, shown, shows_targets)

    @classmethod
    def each(cls, marked: MarkedText, reads_terms: bool) -> "Iterator[Draft]":
        """What is tried, one after the other, until an output has what it must have."""
        if reads_terms and terms_of(marked):
            yield cls.of(marked, with_words=True, shows_targets=True)
        yield cls.of(marked, with_words=True)
        yield cls.of(marked, with_words=False)

    @property
    def needs_places(self) -> bool:
        return not all(self.shown)

    @property
    def text(self) -> str:
        if not self.shown:
            return self.marked.written
        return self.marked.layout(lambda number, mark: self.shown[number]).text

    def source(self) -> Source:
        layout = self.marked.layout(lambda number, mark: self.shown[number])
        numbers = [number for number, shown in enumerate(self.shown) if shown]
        found = units(layout.text, {layout.spans[number]: number for number in numbers})
        ends = [unit.end for unit in found]
        places = [bisect_right(ends, start) for start, _ in layout.spans]
        return Source(self.marked, found, places, frozenset(numbers))

    def finished(self, output: Output, normalise: Callable[[str], str]) -> MarkedTranslation | None:
        """The output with all marks; None if it does not have exactly those that were shown, or
        lacks a term whose target was.
        """
        written = [normalise(shown) for shown in self.shown]
        spans, others = found_marks(output.text, written)
        invented = strangers(output.text, spans, self.marked)
        if any(self.shown) and (others or invented or len(spans) < sum(map(bool, written))):
            return None
        if not self.shown and not invented:
            return self.with_parts([output.text], "kept", output)
        placed = {**spans, **dict.fromkeys(invented, -1)}
        target = units(output.text, placed)
        source = self.source()
        weights = None
        if output.attention is not None:
            weights = over_units(
                output.attention, output.pieces, target, output.source_pieces, source.units
            )
        links = linked(source.units, target, weights)
        parts = project(source, output.text, target, links)
        how: Placing = "kept"
        if left_out := self.shown.count(""):
            guessed = weights is None or not target or left_out > MOST_MARKS
            how = "guessed" if guessed else "aligned"
        parts, terms = settled(parts, replaces=how == "aligned" and not self.shows_targets)
        if self.shows_targets and any(each.found == "missing" for each in terms):
            return None
        if terms and not any(isinstance(part, Mark) for part in parts):
            how = "kept"
        return self.with_parts(parts, how, output, terms)

    def with_parts(
        self,
        parts: Sequence[str | Mark],
        how: Placing,
        output: Output,
        terms: Sequence[TermUse] = (),
    ) -> MarkedTranslation:
        """The parts between the white space that is around the source."""
        written = self.marked.parts
        first, last = (written[0], written[-1]) if written else ("", "")
        lead = first[: len(first) - len(first.lstrip())] if isinstance(first, str) else ""
        trail = last[len(last.rstrip()) :] if isinstance(last, str) and last.strip() else ""
        whole = self.marked.with_parts([lead, *parts, trail])
        return MarkedTranslation(whole, how, self.text, output, terms)


def found_marks(text: str, written: Sequence[str]) -> tuple[dict[tuple[int, int], int], bool]:
    """Where marks stand in an output, by their numbers, and whether some are there too often."""
    waiting: dict[str, list[int]] = {}
    for number, each in enumerate(written):
        if each:
            waiting.setdefault(each, []).append(number)
    if not waiting:
        return {}, False
    pattern = "|".join(re.escape(each) for each in sorted(waiting, key=len, reverse=True))
    spans: dict[tuple[int, int], int] = {}
    for match in re.finditer(pattern, text):
        if not waiting[match[0]]:
            return spans, True
        spans[match.span()] = waiting[match[0]].pop(0)
    return spans, False


def strangers(
    text: str, spans: dict[tuple[int, int], int], marked: MarkedText
) -> list[tuple[int, int]]:
    """Where an output has what looks like a mark, and is none of its source."""
    syntaxes = [each for each in marked.syntaxes if each not in ("html", "xml")]
    if marked.escaped:
        syntaxes.append("address")
    if not syntaxes or not SIGNS.search(text):
        return []
    found, place = [], 0
    for part in protect(text, *syntaxes).parts:
        length = len(part.text if isinstance(part, Mark) else part)
        span = place, place + length
        inside = any(start < span[1] and span[0] < end for start, end in spans)
        if isinstance(part, Mark) and not inside:
            found.append(span)
        place += length
    return found


def translated(
    texts: Sequence[MarkedText],
    translate: Translate,
    normalise: Callable[[str], str],
    reads_terms: bool = False,
) -> list[MarkedTranslation]:
    """The translation of each text, with exactly its marks. A text without a letter or digit
    beside its marks stays as it is.
    """

    def ranked(plain: Sequence[str], aligned: Sequence[bool]) -> list[list[Output]]:
        return [[output] for output in translate(plain, aligned)]

    return [best for best, *_ in ranked_translations(texts, ranked, normalise, reads_terms)]


def placing_of(sentences: Sequence[MarkedTranslation]) -> Placing:
    """How the marks of several sentences found their places: as the least sure of them."""
    found = {each.placing for each in sentences}
    return "guessed" if "guessed" in found else "aligned" if "aligned" in found else "kept"


def word_pairs(sentences: Sequence[MarkedTranslation]) -> list[tuple[int, int]]:
    """Pairs of (source word, target word), as the model has read and written them. Words are
    separated by white space and numbered through all sentences.
    """
    pairs: list[tuple[int, int]] = []
    source_words = target_words = 0
    for each in sentences:
        links = each.output.word_links(each.read)
        pairs += [(source + source_words, target + target_words) for source, target in links]
        source_words += len(each.read.split())
        target_words += len(each.output.text.split())
    return pairs


def without_marks(text: MarkedText, output: str) -> MarkedTranslation:
    """The translation of a text that has no marks: then there are none in it, either."""
    found = Draft.of(text, with_words=False).finished(Output(output), str)
    assert found is not None
    return found


def ranked_translations(
    texts: Sequence[MarkedText],
    translate: TranslateRanked,
    normalise: Callable[[str], str],
    reads_terms: bool = False,
) -> list[list[MarkedTranslation]]:
    """The translations of each text, the best first. Of those behind the best one, only those with
    all marks count.
    """
    found = [[MarkedTranslation(text, "kept")] for text in texts]
    waiting = {
        row: Draft.each(text, reads_terms)
        for row, text in enumerate(texts)
        if any(map(str.isalnum, text.written))
    }
    while waiting:
        drafts = {row: next(rest) for row, rest in waiting.items()}
        outputs = translate(
            [each.text for each in drafts.values()],
            [each.needs_places for each in drafts.values()],
        )
        for (row, draft), ranked in zip(drafts.items(), outputs, strict=True):
            best, *others = (draft.finished(output, normalise) for output in ranked)
            if best is not None:
                found[row] = [best, *(each for each in others if each is not None)]
                del waiting[row]
    return found
