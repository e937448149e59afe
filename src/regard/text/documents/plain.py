"""Plain text: every line is a text of its own."""

from regard.text.documents.content import Content, Edit
from regard.text.documents.document import (
    Document,
    Segments,
    Translations,
    Wish,
    has_words,
    words_of,
)


def read(name: str, data: bytes, wish: Wish) -> Document:
    content = Content.of(name, data)
    segments = Segments()
    places: list[tuple[int, int]] = []
    at = 0
    for number, line in enumerate(content.text.split("\n"), start=1):
        core = line.strip()
        if has_words(core):
            start = at + line.index(core)
            segments.add([core], number)
            places.append((start, start + len(core)))
        at += len(line) + 1

    def write(translations: Translations) -> bytes:
        return content.spliced(
            Edit(*places[number], words_of(pieces).replace("\n", " "))
            for number, pieces in translations.items()
        )

    return Document(segments.found, write)
