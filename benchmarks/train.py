"""Training speed: in every round each contender runs a window of the same updates, in turn."""

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.process import KEEP_BUFFERS, REGARD, Contender
from benchmarks.progress import Progress
from benchmarks.sizes import SIZES
from benchmarks.summary import markdown, megabytes, paired_ratio, quietness, speed
from benchmarks.workload import Workload
from regard.machine.devices import bfloat16_runs, claims_bfloat16


@dataclass(frozen=True)
class Entry:
    name: str
    label: str
    kind: str
    settings: dict[str, str] = field(default_factory=dict)
    # One process with all threads, or one process with one thread for each core.
    team: bool = False
    precision: str = "float32"


GEMM = Entry("gemm", "products alone", "gemm")
# We compare with the strongest of the peers.
REFERENCE = Entry("marian-tuned", "Hugging Face Marian, tuned malloc", "hugging-face", KEEP_BUFFERS)
ENTRIES = (
    Entry("regard-processes", "**regard**, a process a core", "regard", REGARD, team=True),
    Entry("regard", "**regard**, one process", "regard", REGARD),
    Entry(
        "regard-bfloat16",
        "**regard**, a process a core, bfloat16",
        "regard",
        REGARD,
        team=True,
        precision="bfloat16",
    ),
    REFERENCE,
    Entry("marian", "Hugging Face Marian", "hugging-face"),
    Entry("torch", "`torch.nn.Transformer`, tuned malloc", "torch", KEEP_BUFFERS),
    Entry(
        "marian-bfloat16",
        "Hugging Face Marian, tuned malloc, autocast to bfloat16",
        "hugging-face",
        KEEP_BUFFERS,
        precision="bfloat16",
    ),
    Entry(
        "torch-bfloat16",
        "`torch.nn.Transformer`, tuned malloc, autocast to bfloat16",
        "torch",
        KEEP_BUFFERS,
        precision="bfloat16",
    ),
)
GEMM_SECONDS = 2.0
START_SECONDS = 10.0
# The other program: it uses one core, and ends when we end, even if we are killed.
BUSY = """
import os, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
while os.getppid() == int(sys.argv[1]):
    pass
"""
# While the other program runs, some contenders are five times slower.
BUSY_DIVISOR = 4


@cache
def entries() -> tuple[Entry, ...]:
    """Those that this CPU can run: without products of bfloat16, only float32."""
    narrow = claims_bfloat16() and bfloat16_runs()
    return tuple(entry for entry in ENTRIES if narrow or entry.precision == "float32")


@dataclass(frozen=True)
class Plan:
    """How long to measure, and on what."""

    folder: Path
    logs: Path
    rounds: int
    seconds: float
    threads: int

    def expected_seconds(self, busy: bool) -> float:
        windows = (2 if busy else 1) * self.rounds
        return len(entries()) * (START_SECONDS + windows * self.seconds)


def measure(size: str, plan: Plan, busy: bool, progress: Progress) -> dict[str, Any]:
    """Everything that was measured for a size, as values for JSON."""
    with ExitStack() as stack:
        peak = stack.enter_context(start(GEMM, size, plan))
        contenders = {}
        for entry in entries():
            contenders[entry.name] = stack.enter_context(start(entry, size, plan))
            progress.advance(START_SECONDS, f"{size}: {entry.name} is ready")
        trials = [contender.hello["seconds"] for contender in contenders.values()]
        updates = max(2, round(plan.seconds / statistics.median(trials)))
        products = max(1, round(min(plan.seconds, GEMM_SECONDS) / peak.hello["seconds"]))
        gemm: list[float] = []
        results = {
            name: {
                "logit_difference": contender.hello["difference"],
                "memory_bytes": 0,
                "rates": [],
                "busy_rates": [],
            }
            for name, contender in contenders.items()
        }
        for number in range(plan.rounds):
            gemm.append(rate(peak.ask({"updates": products})))
            for key in ("rates", "busy_rates") if busy else ("rates",):
                for name, contender in contenders.items():
                    answer = window(contender, updates, beside_busy_program=key == "busy_rates")
                    results[name][key].append(rate(answer))
                    results[name]["memory_bytes"] = answer["memory_bytes"]
                    progress.advance(plan.seconds, f"{size}: round {number + 1}, {name}, {key}")
    return {
        "size": size,
        "threads": plan.threads,
        "updates": updates,
        "flops_per_token": Workload(plan.folder).flops_per_token(size),
        "gemm": gemm,
        "contenders": results,
    }


def start(entry: Entry, size: str, plan: Plan) -> Contender:
    job = {
        "kind": entry.kind,
        "precision": entry.precision,
        "size": size,
        "folder": str(plan.folder),
        "processes": plan.threads if entry.team else 1,
        "threads": 1 if entry.team else plan.threads,
    }
    name = f"{size}-{entry.name}"
    return Contender(name, "benchmarks.updates", job, entry.settings, plan.logs)


def window(contender: Contender, updates: int, beside_busy_program: bool) -> dict[str, Any]:
    with busy_program() if beside_busy_program else nullcontext():
        divisor = BUSY_DIVISOR if beside_busy_program else 1
        return contender.ask({"updates": max(1, updates // divisor)})


@contextmanager
def busy_program() -> Iterator[None]:
    """Run another program, which uses a core all the time."""
    process = subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def rate(answer: dict[str, Any]) -> float:
    return float(answer["work"] / answer["seconds"])


def table(result: dict[str, Any]) -> str:
    """The results of a size as a paragraph and a table."""
    contenders, gemm = result["contenders"], result["gemm"]
    config = SIZES[result["size"]]
    worst = max(each["logit_difference"] for each in contenders.values())
    busy = any(each["busy_rates"] for each in contenders.values())
    header = ["", "tokens/s (best)", "× Marian, tuned", "of GEMM", "MB"]
    rows = []
    for entry in ENTRIES:
        if entry.name not in contenders:
            continue
        found = contenders[entry.name]
        flops = [each * result["flops_per_token"] for each in found["rates"]]
        row = [
            entry.label,
            speed(found["rates"]),
            str(paired_ratio(found["rates"], contenders[REFERENCE.name]["rates"])),
            f"{paired_ratio(flops, gemm).median:.0%}",
            megabytes(found["memory_bytes"]),
        ]
        if busy:
            row.append(f"{paired_ratio(found['busy_rates'], found['rates']).median:.0%}")
        rows.append(row)
    return (
        f"**{result['size']}**: d_model {config.d_model}, d_ff {config.d_ff}, "
        f"{config.encoder_layers} + {config.decoder_layers} layers, {config.num_heads} heads, "
        f"dropout {config.dropout}. {len(gemm)} rounds of {result['updates']} updates, "
        f"{result['threads']} threads; logits differ by at most {worst:.1g}. {quietness(gemm)}\n\n"
        + markdown([*header, "kept beside a busy program"] if busy else header, rows)
    )
