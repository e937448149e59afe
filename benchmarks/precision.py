"""Compares whole updates of a translator in float32 and in bfloat16, and those of other libraries.

    python -m benchmarks.precision [--size tiny small base] [--rounds 5] [--updates 2]

One thread, processor time, all in one process that keeps big buffers, in turn: what other programs
do at the same time hardly changes the ratios. The others use PyTorch's autocast for bfloat16.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import torch

from benchmarks.process import ROOT
from benchmarks.sizes import SIZES
from benchmarks.updates import peer, plain_updates, regard_updates
from benchmarks.workload import Workload, default_pairs, prepare_pairs
from regard.machine import memory
from regard.training.team import ALONE

CONTENDERS = [
    (kind, precision)
    for kind in ("regard", "hugging-face", "torch")
    for precision in ("float32", "bfloat16")
]


def updates_of(kind: str, precision: str, workload: Workload, size: str) -> Iterator[int]:
    if kind == "regard":
        return regard_updates(workload, size, ALONE, precision)
    data = workload.data(ALONE)
    model, _ = peer(kind, workload.first_model(size), data)
    return plain_updates(model.train(), data, precision)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.precision", description=__doc__)
    parser.add_argument("--size", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=2, help="of a window")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "bench")
    options = parser.parse_args()
    torch.set_num_threads(1)
    memory.keep_big_buffers()
    workload = Workload(prepare_pairs(default_pairs(), options.work.resolve()))
    for size in options.size:
        runs = {each: updates_of(*each, workload, size) for each in CONTENDERS}
        rates: dict[tuple[str, str], list[float]] = {each: [] for each in CONTENDERS}
        for round_number in range(options.rounds + 1):
            for each, steps in runs.items():
                started = time.process_time()
                tokens = sum(islice(steps, options.updates if round_number else 1))
                if round_number:  # the first update prepares the libraries
                    rates[each].append(tokens / (time.process_time() - started))
        # The best peer, whatever its type.
        peers = [each for each in CONTENDERS if each[0] != "regard"]
        best = max(peers, key=lambda each: statistics.median(rates[each]))
        print(f"{size}: tokens a second of one core, × {' in '.join(best)}")
        for each, found in rates.items():
            ratios = sorted(a / b for a, b in zip(found, rates[best], strict=True))
            print(
                f"  {' in '.join(each):<26}{statistics.median(found):9,.0f}"
                f"{statistics.median(ratios):7.2f}  ({ratios[0]:.2f}–{ratios[-1]:.2f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
