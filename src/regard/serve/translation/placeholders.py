"""Marks that stand for something else in a text, and must come back as they are.

Weblate hides what is not to be translated behind [X12X]. A model that has never seen such a mark
may lose it; then the text is translated between the marks, which is worse, but whole.
"""

import re
from collections import Counter

from regard.serve.translation.splitting import Document

_MARK = re.compile(r"\[X\d{1,9}X ?\]")


def marks(text: str) -> Counter[str]:
    return Counter(found.replace(" ", "") for found in _MARK.findall(text))


def kept(source: str, output: str) -> bool:
    """Whether an output has exactly the marks of its source."""
    return marks(source) == marks(output)


def marked(source: str, language: str) -> Document:
    """A text of which only what is between the marks is translated."""
    document = Document()
    start = 0
    for found in _MARK.finditer(source):
        document.add(source[start : found.start()], language)
        document.parts.append(found[0])
        start = found.end()
    document.add(source[start:], language)
    return document
