"""Long texts in parts, since the library of tokenizers needs a hundred times the size of a text."""

from collections.abc import Iterator

LONGEST_PART = 200_000


def is_long(text: str) -> bool:
    return len(text) > LONGEST_PART


def parts(text: str) -> Iterator[str]:
    """A long text in parts, each of which ends where a word does. A longer word is cut."""
    start = 0
    while len(text) - start > LONGEST_PART:
        space = text.rfind(" ", start + 1, start + LONGEST_PART)
        end = space if space > 0 else start + LONGEST_PART
        yield text[start:end]
        start = end
    yield text[start:]
