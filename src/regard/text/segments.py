"""Cutting a text that is longer than a model has learned to read."""

from collections.abc import Sequence

from regard.text.tokenizer import Tokenizer

SENTENCE_ENDS = frozenset(".!?…。！？")


def segments(ids: Sequence[int], tokenizer: Tokenizer, limit: int) -> list[list[int]]:
    """Runs of at most `limit` pieces, cut after a sentence if there is one, else between words."""
    if len(ids) <= limit:
        return [list(ids)]
    pieces = tokenizer.pieces(ids)
    result = []
    start = 0
    while len(ids) - start > limit:
        stop = start + limit
        cut = next((i for i in range(stop, start, -1) if ends_sentence(pieces[i - 1])), 0)
        if not cut:
            cut = next(
                (i for i in range(stop, start, -1) if tokenizer.begins_word(pieces[i])), stop
            )
        result.append(list(ids[start:cut]))
        start = cut
    result.append(list(ids[start:]))
    return result


def ends_sentence(piece: str) -> bool:
    return piece.removeprefix("▁") in SENTENCE_ENDS
