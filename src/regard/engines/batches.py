"""Which sentences are searched together."""

from collections.abc import Iterator, Sequence


def batches_by_length(lengths: Sequence[int], pieces: int, most: int) -> Iterator[list[int]]:
    """Batches of rows with similar lengths, longest first: at most `most` rows, and at most
    `pieces` pieces including padding.
    """
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    start = 0
    while start < len(order):
        count = max(1, min(most, pieces // lengths[order[start]]))
        yield order[start : start + count]
        start += count
