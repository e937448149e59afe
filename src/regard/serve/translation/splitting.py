"""Splits a text into sentences, and puts their translations in their places."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from regard.text.languages import UNSPACED, base_code

# The splitter looks back at quotation marks, which takes long in a text full of them.
MAX_SLICE_CHARACTERS = 4000


@dataclass
class Document:
    """A text as its parts in order. A part is text that stays, or the number of a sentence that is
    translated.
    """

    sentences: list[str] = field(default_factory=list)
    parts: list[str | int] = field(default_factory=list)
    is_html: bool = False

    def fill(self, translations: Sequence[str], target: str) -> str:
        """The text with every sentence replaced by its translation, up to the first without one."""
        filled = []
        unspaced = base_code(target) in UNSPACED
        for index, part in enumerate(self.parts):
            if isinstance(part, int):
                if part == len(translations):
                    break
                text = translations[part]
                filled.append(escape(text, quote=False) if self.is_html else text)
            elif part in ("", " ") and self._joins(index):
                filled.append("" if unspaced else " ")  # as the target language is written
            else:
                filled.append(part)
        return "".join(filled)

    def _joins(self, index: int) -> bool:
        """Whether a part stands between two sentences of a paragraph."""
        return (
            0 < index < len(self.parts) - 1
            and isinstance(self.parts[index - 1], int)
            and isinstance(self.parts[index + 1], int)
        )

    def add(self, text: str, language: str) -> None:
        """Append a text, split into sentences. A line break always ends a sentence."""
        for number, line in enumerate(text.split("\n")):
            if number:
                self.parts.append("\n")
            for part in slices(line):
                for sentence in sentences(part, language):
                    self._add_sentence(sentence)

    def _add_sentence(self, text: str) -> None:
        core = text.strip()
        if not any(letter.isalnum() for letter in core):
            self.parts.append(text)  # emoji, rules and punctuation need no translation
            return
        start = text.index(core)
        if start:
            self.parts.append(text[:start])
        self.parts.append(len(self.sentences))
        self.sentences.append(core)
        self.parts.append(text[start + len(core) :])


def split_text(text: str, language: str) -> Document:
    document = Document()
    document.add(text, language)
    return document


def sentences(text: str, language: str) -> list[str]:
    """The sentences of a text, each with the space that follows it. Joined they are the text."""
    import sentencex

    found: list[str] = sentencex.segment(base_code(language), text)
    return found if "".join(found) == text else [text]


def slices(text: str) -> Iterator[str]:
    """The text in slices; a very long text is cut between words."""
    start = 0
    while len(text) - start > MAX_SLICE_CHARACTERS:
        cut = (
            text.rfind(" ", start + 1, start + MAX_SLICE_CHARACTERS) + 1
            or start + MAX_SLICE_CHARACTERS
        )
        yield text[start:cut]
        start = cut
    if start < len(text):
        yield text[start:]
