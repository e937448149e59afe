"""Reads and writes translation memories."""

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from regard import __version__
from regard.data.corpus import read_tagged_pairs
from regard.errors import DataError
from regard.text.documents.xml import escaped
from regard.text.memory import Memory

MOST_PAIRS = 1_000_000


def read_memory(paths: Sequence[Path], languages: tuple[str, str] | None) -> Memory:
    """The pairs of all files that can be trained on, such as .tmx, .tsv, .csv, .po and .xliff, with
    the tags in their texts.
    """
    pairs = []
    for path in paths:
        for pair in read_tagged_pairs([path], languages):
            if pair.source.strip() and pair.target.strip():
                pairs.append((pair.source, pair.target))
            if len(pairs) > MOST_PAIRS:
                raise DataError(f"{path}: more than {MOST_PAIRS:,} pairs; give a smaller memory")
    return Memory(pairs)


def tmx_head(languages: tuple[str, str]) -> str:
    """What is before the units of a TMX file."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        f'<header creationtool="regard" creationtoolversion={quoteattr(__version__)} '
        'segtype="sentence" o-tmf="regard" adminlang="en" datatype="plaintext" '
        f"srclang={quoteattr(languages[0])}/>\n<body>"
    )


TMX_END = "</body>\n</tmx>"


def tmx_unit(source: str, target: str, languages: tuple[str, str]) -> str:
    """A text and its translation."""
    sides = "".join(
        f"<tuv xml:lang={quoteattr(code)}><seg>{escaped(text)}</seg></tuv>"
        for code, text in zip(languages, (source, target), strict=True)
    )
    return f"<tu>{sides}</tu>"
