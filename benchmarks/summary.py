"""Turns measured windows into ratios, and ratios into the tables of docs/benchmarks.md."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

RESAMPLES = 10_000
# If the machine's own speed varied by more than this, something else was running.
QUIET_SPREAD = 0.15


@dataclass(frozen=True)
class Interval:
    """A median and its 95 % interval from a bootstrap over rounds."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """How many times as fast ours is, from windows of the same rounds: what slows a round slows
    both.
    """
    ratios = np.array(ours, dtype=float) / np.array(theirs, dtype=float)
    random = np.random.default_rng(0)
    medians = np.median(random.choice(ratios, (RESAMPLES, len(ratios))), axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return Interval(float(np.median(ratios)), float(low), float(high))


def quietness(gemm: Sequence[float]) -> str:
    """How fast the machine was, and whether its speed was constant."""
    low, high = min(gemm) / 1e9, max(gemm) / 1e9
    warning = " **The machine was not quiet.**" if low < (1 - QUIET_SPREAD) * high else ""
    return f"Float32 products: {low:.0f} to {high:.0f} GFLOP/s.{warning}"


def speed(rates: Sequence[float]) -> str:
    return f"{median(rates):,.0f} ({max(rates):,.0f})"


def megabytes(num_bytes: float) -> str:
    return f"{num_bytes / 1e6:,.0f}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def put(document: str, name: str, text: str) -> str:
    """The document with `text` put between its marks <!-- name --> and <!-- /name -->."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if len(pattern.findall(document)) != 1:
        raise SystemExit(f"the document needs {begin} and {end} once, for the table between them")
    return pattern.sub(lambda _: f"{begin}\n{text}\n{end}", document)
