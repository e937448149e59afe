"""Placeholders in a text, which must be in its translation as well.

Weblate replaces what is not to be translated by [X12X]. A model that has never seen such a
placeholder may lose it. Then the text between the placeholders is translated instead, which reads
worse, but is complete.
"""

import re
from collections import Counter

from regard.serve.translation.splitting import Document

_PLACEHOLDER = re.compile(r"\[X\d{1,9}X ?\]")


def placeholders(text: str) -> Counter[str]:
    return Counter(found.replace(" ", "") for found in _PLACEHOLDER.findall(text))


def keeps_placeholders(source: str, output: str) -> bool:
    """Whether an output has exactly the placeholders of its source."""
    return placeholders(source) == placeholders(output)


def split_at_placeholders(source: str, language: str) -> Document:
    """Split a text into sentences between its placeholders, which stay."""
    document = Document()
    start = 0
    for found in _PLACEHOLDER.finditer(source):
        document.add(source[start : found.start()], language)
        document.parts.append(found[0])
        start = found.end()
    document.add(source[start:], language)
    return document
