"""What looks for outputs: PyTorch itself, or another runtime over the same run."""

from collections.abc import Sequence
from typing import Literal, Protocol

from regard.hypothesis import Hypothesis
from regard.search import Search

# "auto" is CTranslate2 where it can answer, PyTorch where it cannot.
EngineName = Literal["auto", "torch", "ctranslate2"]


class Engine(Protocol):
    """An output begins with its prefix, which may be empty. Ids are without START and END."""

    def search(
        self, sources: Sequence[list[int]], prefixes: Sequence[list[int]], search: Search
    ) -> list[list[Hypothesis]]:
        """Hypotheses of each source, best first, in order."""

    def best(
        self, sources: Sequence[list[int]], prefixes: Sequence[list[int]], search: Search
    ) -> list[list[int]]:
        """The best output of each source and nothing else about it, which may be less work."""
