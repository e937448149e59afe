"""Tests of word vectors: pairs of words with how similar people find them, and analogies.

Which of the two a file holds shows in its lines: `king<TAB>queen<TAB>8.58`, or four words under
the heading of a section, `: family`.
"""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from regard.data.lines import lines
from regard.errors import DataError

# Lines by which a file is recognised.
TRIED = 50


@dataclass(frozen=True)
class RatedPair:
    first: str
    second: str
    rating: float


@dataclass(frozen=True)
class Question:
    """An analogy: the first word is to the second as the third is to the fourth."""

    section: str
    words: tuple[str, str, str, str]


def read_word_test(path: Path) -> list[RatedPair] | list[Question] | None:
    """The test in a file; None for a file of another kind, such as running text."""
    head = [line for line, _ in islice(lines(path), TRIED) if is_content(line)]
    if head and (head[0].startswith(":") or all(len(line.split()) == 4 for line in head)):
        return questions(path)
    if len(head) > 1 and all(rated(line) for line in head[1:]):
        return pairs(path)
    return None


def is_content(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")


def rated(line: str) -> RatedPair | None:
    """Two words and the first number after them, which may follow other columns."""
    between = next((mark for mark in "\t,;" if mark in line), None)
    first, second, *others = [cell.strip() for cell in line.strip().split(between)] + ["", ""]
    for cell in others:
        try:
            return RatedPair(first, second, float(cell)) if first and second else None
        except ValueError:
            continue
    return None


def pairs(path: Path) -> list[RatedPair]:
    found: list[RatedPair] = []
    for line, place in lines(path):
        if not is_content(line):
            continue
        pair = rated(line)
        if pair is not None:
            found.append(pair)
        elif found:  # the first line may be the names of the columns
            raise DataError(f"{place}: not two words and a number; mend or remove the line")
    return found


def questions(path: Path) -> list[Question]:
    found: list[Question] = []
    section = ""
    for line, place in lines(path):
        if line.startswith(":"):
            section = line[1:].strip()
        elif is_content(line):
            words = line.split()
            if len(words) != 4:
                raise DataError(f"{place}: {len(words)} words; an analogy has four")
            found.append(Question(section, (words[0], words[1], words[2], words[3])))
    return found
