"""A sample of examples in blocks of neighbours, evenly over all that is read."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")

BLOCK = 200
# Between this many blocks and twice as many are kept; less data is kept whole.
BLOCKS = 100
# More than this is not read before a training.
MOST = 2_000_000


@dataclass
class Blocks(Generic[Item]):
    """Blocks of neighbours: every block at first; when there are too many, every second of them;
    and so on.
    """

    count: int = 0
    kept: dict[int, list[Item]] = field(default_factory=dict)  # by the number of the first item
    _stride: int = 1

    def add(self, item: Item) -> None:
        block, place = divmod(self.count, BLOCK)
        self.count += 1
        if block % self._stride:
            return
        if place == 0:
            if len(self.kept) == 2 * BLOCKS:
                self._stride *= 2
                self.kept = {
                    first: items
                    for first, items in self.kept.items()
                    if not first // BLOCK % self._stride
                }
                if block % self._stride:
                    return
            self.kept[self.count - 1] = []
        self.kept[block * BLOCK].append(item)

    def __iter__(self) -> Iterator[Item]:
        for items in self.kept.values():
            yield from items

    def __len__(self) -> int:
        return sum(map(len, self.kept.values()))

    def stretches(self) -> Iterator[tuple[int, list[Item]]]:
        """Longest runs of neighbours, each with the number of its first item."""
        first = 0
        run: list[Item] = []
        for start, items in self.kept.items():
            if run and start != first + len(run):
                yield first, run
                run = []
            if not run:
                first = start
            run += items
        if run:
            yield first, run
