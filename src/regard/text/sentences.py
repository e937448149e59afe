"""Splits a text with marks into sentences."""

from regard.text.languages import base_code
from regard.text.marks import MarkedText

# The splitter looks back at quotation marks, which takes long in a text full of them.
MAX_SLICE_CHARACTERS = 4000


def split(text: MarkedText, language: str) -> list[MarkedText]:
    """The sentences of a text, each with the space that follows it: joined they are the text. A
    line break always ends a sentence.
    """
    return text.cut(lambda shown: ends(shown, language))


def ends(text: str, language: str) -> list[int]:
    """Where the sentences of a text end."""
    import sentencex

    found: list[int] = []
    place = 0
    for line in text.splitlines(keepends=True):
        start = 0
        while start < len(line):
            stop = slice_end(line, start)
            sentences: list[str] = sentencex.segment(base_code(language), line[start:stop])
            if "".join(sentences) != line[start:stop]:
                sentences = [line[start:stop]]
            for sentence in sentences:
                place += len(sentence)
                found.append(place)
            start = stop
    return found


def slice_end(line: str, start: int) -> int:
    """Where a slice of a very long line ends, between words if it can."""
    limit = start + MAX_SLICE_CHARACTERS
    if len(line) <= limit:
        return len(line)
    return line.rfind(" ", start + 1, limit) + 1 or limit
