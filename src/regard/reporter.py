"""Where long work reports how far it is: nowhere, unless a command shows it."""

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
    """`say` gets a sentence; `progress(what, total)` is a context whose function takes what is done
    since the last call.
    """

    say: Callable[[str], None] = nothing
    progress: Callable[[str, int], AbstractContextManager[Advance]] = no_progress


SILENT = Reporter()
