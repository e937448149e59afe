"""Reports the progress of long work, if a command shows it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

Advance = Callable[[int], None]


def nothing(text: str) -> None:
    """Says nothing."""


@contextmanager
def no_progress(what: str, total: int) -> Iterator[Advance]:
    """Shows nothing."""
    yield lambda count: None


@dataclass(frozen=True)
class Reporter:
    """`say` takes a sentence; `progress(what, total)` is a context manager, whose function takes
    how much was done since its last call.
    """

    say: Callable[[str], None] = nothing
    progress: Callable[[str, int], AbstractContextManager[Advance]] = no_progress


SILENT = Reporter()
