"""The attention that says which source pieces an output comes from. It loads without PyTorch."""

from dataclasses import dataclass
from typing import Any, Self

from regard.run import Run


@dataclass(frozen=True)
class Aligner:
    """Heads of one layer of cross-attention: one of them, or the mean of all.

    With `read`, a piece looks where the position looks that has read it, and not the one that
    predicts it.
    """

    layer: int
    head: int | None = None
    read: bool = False

    @classmethod
    def of_run(cls, run: Run, layers: int) -> Self:
        """What was measured to align best. Where nothing was, it is the mean of the last layer but
        one, which aligns best as a rule (Garg et al. 2019).
        """
        found: dict[str, Any] = run.finding("alignment") or {}
        for score in found.get("scores", ()):
            if score["layer"] is not None:
                return cls(score["layer"], score["head"], score["reading"] == "read")
        return cls(max(0, layers - 2))
