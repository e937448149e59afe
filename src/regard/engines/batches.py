"""Which sentences are searched together."""

from collections.abc import Iterator, Sequence


def batches_by_length(lengths: Sequence[int], pieces: int, most: int) -> Iterator[list[int]]:
    """Rows of like length together, longest first: at most `most` of them, and at most `pieces`
    pieces with padding.
    """
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    start = 0
    while start < len(order):
        count = max(1, min(most, pieces // lengths[order[start]]))
        yield order[start : start + count]
        start += count
