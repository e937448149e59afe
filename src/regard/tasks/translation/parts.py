"""Texts as an engine takes them: a long one in several parts."""

from collections.abc import Sequence
from typing import NamedTuple

from regard.errors import RequestError
from regard.text.segments import segments
from regard.text.tokenizer import Tokenizers


class Parts(NamedTuple):
    """The parts of texts, in order."""

    sources: list[list[int]]
    owners: list[int]  # which text a part is of
    prefixes: list[list[int]]


def parts_of(
    texts: Sequence[str], prefixes: Sequence[str], tokenizers: Tokenizers, limit: int
) -> Parts:
    """Parts of at most `limit` pieces; a prefix begins the output of a text's first part."""
    if prefixes and len(prefixes) != len(texts):
        raise RequestError(f"{len(prefixes)} prefixes for {len(texts)} texts; give one each")
    parts = Parts([], [], [])
    for owner, ids in enumerate(tokenizers.source.encode_batch(texts)):
        begin = tokenizers.target.encode(prefixes[owner]) if prefixes else []
        for part in segments(ids, tokenizers.source, limit) if ids else []:
            parts.sources.append(part)
            parts.owners.append(owner)
            parts.prefixes.append(begin)
            begin = []
    return parts
