"""What looks for outputs: PyTorch itself, or another runtime over the same run."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search

# "auto" is CTranslate2 where it can answer, PyTorch where it cannot.
EngineName = Literal["auto", "torch", "ctranslate2"]
# Asked between steps whether to give up.
Stopped = Callable[[], bool]


def never() -> bool:
    return False


class Abandoned(Exception):
    """A search was given up, since nobody waits for its outputs any more."""


class Engine(Protocol):
    """An output begins with its prefix, which may be empty. Ids are without START and END. An
    engine that can stop between two steps raises Abandoned when told to.
    """

    def search(
        self,
        sources: Sequence[list[int]],
        prefixes: Sequence[list[int]],
        search: Search,
        stopped: Stopped = never,
    ) -> list[list[Hypothesis]]:
        """Hypotheses of each source, best first, in order."""

    def best(
        self,
        sources: Sequence[list[int]],
        prefixes: Sequence[list[int]],
        search: Search,
        stopped: Stopped = never,
    ) -> list[list[int]]:
        """The best output of each source and nothing else about it, which may be less work."""
