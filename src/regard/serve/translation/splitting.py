"""A text as the sentences a model translates and everything between them, which stays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from regard.serve.translation.languages import UNSPACED, base

# The splitter looks back at quotation marks, which takes long in a text of nothing else.
LONGEST_SLICE = 4000


@dataclass
class Document:
    """Parts in order: text that stays, or the number of a sentence to be translated."""

    sentences: list[str] = field(default_factory=list)
    parts: list[str | int] = field(default_factory=list)
    is_html: bool = False

    def fill(self, translations: Sequence[str], target: str) -> str:
        """The text with each sentence in its translation, up to the first that has none yet."""
        filled = []
        unspaced = base(target) in UNSPACED
        for place, part in enumerate(self.parts):
            if isinstance(part, int):
                if part == len(translations):
                    break
                text = translations[part]
                filled.append(escape(text, quote=False) if self.is_html else text)
            elif part in ("", " ") and self._joins(place):
                filled.append("" if unspaced else " ")  # as the target language is written
            else:
                filled.append(part)
        return "".join(filled)

    def _joins(self, place: int) -> bool:
        """Whether a part stands between two sentences of a paragraph."""
        return (
            0 < place < len(self.parts) - 1
            and isinstance(self.parts[place - 1], int)
            and isinstance(self.parts[place + 1], int)
        )

    def add(self, text: str, language: str) -> None:
        """Sentences of a text and what surrounds them. Line breaks always separate."""
        for number, line in enumerate(text.split("\n")):
            if number:
                self.parts.append("\n")
            for part in slices(line):
                for sentence in sentences(part, language):
                    self._add_sentence(sentence)

    def _add_sentence(self, text: str) -> None:
        core = text.strip()
        if not any(letter.isalnum() for letter in core):
            self.parts.append(text)  # emoji, rules and marks mean the same everywhere
            return
        start = text.index(core)
        if start:
            self.parts.append(text[:start])
        self.parts.append(len(self.sentences))
        self.sentences.append(core)
        self.parts.append(text[start + len(core) :])


def plain(text: str, language: str) -> Document:
    document = Document()
    document.add(text, language)
    return document


def sentences(text: str, language: str) -> list[str]:
    """Sentences with the space that follows them; together they are the text."""
    import sentencex

    found: list[str] = sentencex.segment(base(language), text)
    return found if "".join(found) == text else [text]


def slices(text: str) -> Iterator[str]:
    """The text, cut between words where it is very long."""
    start = 0
    while len(text) - start > LONGEST_SLICE:
        cut = text.rfind(" ", start + 1, start + LONGEST_SLICE) + 1 or start + LONGEST_SLICE
        yield text[start:cut]
        start = cut
    if start < len(text):
        yield text[start:]
