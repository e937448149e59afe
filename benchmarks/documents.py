"""Merges and drops sentences of a news pair, and counts how many are aligned again.

    python -m benchmarks.documents [--seeds 3]

REGARD_DATA names the folder of the public data sets.
"""

import argparse
import os
import random
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.planted_mistakes import read
from regard.aligning.align import align

SETS = (("newstest2013", "de"), ("newstest2012", "fr"), ("newstest2011", "cs"))
DROPPED, MERGED = 0.05, 0.08
Gold = set[tuple[tuple[int, ...], tuple[int, ...]]]


def changed(
    sources: Sequence[str], targets: Sequence[str], seed: int
) -> tuple[list[str], list[str], Gold]:
    """Both sides with sentences dropped and merged, and which of them belong together."""
    chance = random.Random(seed)
    first: list[str] = []
    second: list[str] = []
    gold: Gold = set()
    row = 0
    while row < len(sources):
        drawn = chance.random()
        here = (sources[row],), (targets[row],)
        if drawn < 2 * DROPPED:
            (first.extend if drawn < DROPPED else second.extend)(here[drawn >= DROPPED])
            row += 1
            continue
        if drawn < 2 * (DROPPED + MERGED) and row + 1 < len(sources):
            both = sources[row : row + 2], targets[row : row + 2]
            one = drawn < 2 * DROPPED + MERGED
            here = (
                (" ".join(both[0]),) if one else tuple(both[0]),
                tuple(both[1]) if one else (" ".join(both[1]),),
            )
            row += 1
        row += 1
        gold.add(
            (
                tuple(range(len(first), len(first) + len(here[0]))),
                tuple(range(len(second), len(second) + len(here[1]))),
            )
        )
        first += here[0]
        second += here[1]
    return first, second, gold


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--lines", type=int, default=100_000)
    given = parser.parse_args()
    folder = Path(os.environ.get("REGARD_DATA", "data")) / "newstest"
    print(
        "| pair | sentences | precision | recall | F1 | s of one core |\n|---|---|---|---|---|---|"
    )
    for name, code in SETS:
        sources, targets = (
            read(folder / f"{name}.{each}.gz")[: given.lines] for each in ("en", code)
        )
        for seed in range(1, given.seeds + 1):
            first, second, gold = changed(sources, targets, seed)
            begin = time.process_time()
            found = {
                (tuple(bead.source), tuple(bead.target))
                for bead in align(first, second)
                if bead.source and bead.target
            }
            seconds = time.process_time() - begin
            right = len(found & gold)
            precision, recall = right / max(1, len(found)), right / len(gold)
            f1 = 2 * precision * recall / max(1e-9, precision + recall)
            print(
                f"| {name} en-{code}, seed {seed} | {len(first):,} × {len(second):,} | "
                f"{precision:.2%} | {recall:.2%} | {f1:.2%} | {seconds:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
