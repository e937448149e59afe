"""Engines search for outputs: PyTorch itself, or another runtime for the same run."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Attention: TypeAlias = npt.NDArray[np.float32]

# "auto" is CTranslate2 where it can do the search, otherwise PyTorch.
EngineName = Literal["auto", "torch", "ctranslate2"]
# Called between steps; True means that the search should stop.
Stopped = Callable[[], bool]


def never() -> bool:
    return False


class Abandoned(Exception):
    """A search was stopped because nobody waits for its outputs any more."""


class Engine(Protocol):
    """Searches for outputs. An output begins with its prefix, which may be empty. Ids are without
    START and END. An engine that can stop between two steps raises Abandoned when asked to stop.
    """

    def search(
        self,
        sources: Sequence[list[int]],
        prefixes: Sequence[list[int]],
        search: Search,
        stopped: Stopped = never,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each source, best first; sources stay in their order."""

    def best(
        self,
        sources: Sequence[list[int]],
        prefixes: Sequence[list[int]],
        search: Search,
        stopped: Stopped = never,
    ) -> list[list[int]]:
        """Only the best output of each source, which may be less work."""

    def attention(
        self, sources: Sequence[list[int]], outputs: Sequence[list[int]]
    ) -> "list[Attention | None]":
        """[output, source] for each pair: how much each piece of an output comes from each of its
        source; None for a model without attention.
        """
