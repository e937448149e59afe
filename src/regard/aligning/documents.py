"""Documents as sentences, and the pairs that two of them hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.aligning.align import Bead, align
from regard.data.corpus import Pair
from regard.data.lines import lines
from regard.errors import DataError
from regard.text.languages import base_code

Paragraph = list[tuple[str, int]]  # sentences, each with the number of its line


@dataclass(frozen=True)
class Aligned:
    """The pairs of two documents, and how many sentences have no counterpart."""

    pairs: tuple[Pair, ...]
    shapes: tuple[tuple[int, int], ...]
    anchored: int  # paragraphs that were aligned one by one; 0 if the documents were as a whole

    def alone(self, side: int) -> int:
        return sum(shape[side] for shape in self.shapes if not all(shape))


def paragraphs(path: Path, language: str, split: bool = True) -> list[Paragraph]:
    """The sentences of a file. Empty lines are between paragraphs; a line break ends a sentence."""
    found: list[Paragraph] = [[]]
    for number, (line, _) in enumerate(lines(path), start=1):
        if not line.strip():
            found.append([])
        elif split:
            found[-1] += [(each, number) for each in sentences(line, language)]
        else:
            found[-1].append((line.strip(), number))
    found = [each for each in found if each]
    if not found:
        raise DataError(f"{path}: no text in it; give a document with sentences")
    return found


def sentences(text: str, language: str) -> list[str]:
    import sentencex

    parts: list[str] = sentencex.segment(base_code(language), text)
    return [part.strip() for part in parts if any(letter.isalnum() for letter in part)]


def align_documents(
    source: Sequence[Paragraph],
    target: Sequence[Paragraph],
    name: str,
    known: Iterable[tuple[str, str]] = (),
) -> Aligned:
    """The pairs of two documents, with the line of the source that each begins at. Where both have
    the same number of paragraphs, each is aligned with its counterpart.
    """
    anchored = len(source) if len(source) == len(target) > 1 else 0
    first, second = ([each for part in side for each in part] for side in (source, target))
    texts = [[text for text, _ in side] for side in (first, second)]
    beads = align(texts[0], texts[1], known, anchors(source, target) if anchored else ())
    pairs = [pair_of(bead, first, second, name) for bead in beads if all(bead.shape)]
    return Aligned(tuple(pairs), tuple(bead.shape for bead in beads), anchored)


def anchors(source: Sequence[Paragraph], target: Sequence[Paragraph]) -> list[tuple[int, int]]:
    """How many sentences of both sides there are up to the end of each paragraph."""
    found, rows, columns = [], 0, 0
    for one, other in zip(source, target, strict=True):
        rows, columns = rows + len(one), columns + len(other)
        found.append((rows, columns))
    return found


def pair_of(bead: Bead, source: Paragraph, target: Paragraph, name: str) -> Pair:
    first, second = (
        " ".join(side[each][0] for each in numbers)
        for side, numbers in ((source, bead.source), (target, bead.target))
    )
    return Pair(first, second, f"{name}:{source[bead.source[0]][1]}")
