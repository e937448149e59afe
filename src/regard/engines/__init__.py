"""What looks for outputs: PyTorch itself, or another runtime over the same run."""

from collections.abc import Sequence
from typing import Protocol

from regard.decode.contract import Hypothesis
from regard.search import Search


class Engine(Protocol):
    def search(
        self, sources: Sequence[list[int]], prefixes: Sequence[list[int]], search: Search
    ) -> list[list[Hypothesis]]:
        """Hypotheses of each source, best first, in order; ids without START and END.

        An output begins with its prefix, which may be empty.
        """
