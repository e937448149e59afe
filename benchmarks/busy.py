"""How fast training is while another program uses a core, for several ways in which threads wait.

Threads that spin while they wait take the core from the thread they wait for. libgomp reads how
long they spin when it is loaded, so each setting needs a process of its own.
"""

import statistics
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.process import REGARD, Contender
from benchmarks.progress import Progress
from benchmarks.summary import markdown, paired_ratio, speed
from benchmarks.train import BUSY_DIVISOR, START_SECONDS, rate, window

WAITING: dict[str, dict[str, str]] = {
    "libgomp's own": {},
    "`GOMP_SPINCOUNT=10000`": {"GOMP_SPINCOUNT": "10000"},
    "`GOMP_SPINCOUNT=1000`": REGARD,
    "`GOMP_SPINCOUNT=0`": {"GOMP_SPINCOUNT": "0"},
    "`OMP_WAIT_POLICY=PASSIVE`": {"OMP_WAIT_POLICY": "PASSIVE"},
}


@dataclass(frozen=True)
class Entry:
    processes: int
    threads: int  # of each process
    waiting: str

    @property
    def name(self) -> str:
        return f"{self.processes}x{self.threads}-{list(WAITING).index(self.waiting)}"


@dataclass(frozen=True)
class Plan:
    folder: Path
    logs: Path
    size: str
    rounds: int
    seconds: float
    threads: int

    def entries(self) -> list[Entry]:
        """One thread waits for nobody. So a process with one thread is measured without settings
        only, and with those of the command as a check.
        """
        some = list(WAITING)[:2]
        return [
            *(Entry(1, self.threads, waiting) for waiting in WAITING),
            *(Entry(self.threads, 1, waiting) for waiting in some),
            Entry(1, max(1, self.threads - 1), some[1]),
        ]

    def expected_seconds(self) -> float:
        return len(self.entries()) * (START_SECONDS + 2 * self.rounds * self.seconds)


def measure(plan: Plan, progress: Progress) -> dict[str, Any]:
    """Speeds without and with the other program, in turn, as values for JSON."""
    found: list[dict[str, Any]] = []
    with ExitStack() as stack:
        contenders = []
        for entry in plan.entries():
            contenders.append(stack.enter_context(start(entry, plan)))
            progress.advance(START_SECONDS, f"busy: {entry.name} is ready")
            found.append({**entry.__dict__, "rates": [], "busy_rates": []})
        trials = [contender.hello["seconds"] for contender in contenders]
        updates = max(BUSY_DIVISOR, round(plan.seconds / statistics.median(trials)))
        for number in range(plan.rounds):
            for key in ("rates", "busy_rates"):
                for contender, result in zip(contenders, found, strict=True):
                    answer = window(contender, updates, beside_busy_program=key == "busy_rates")
                    result[key].append(rate(answer))
                    label = f"busy: round {number + 1}, {contender.name}, {key}"
                    progress.advance(plan.seconds, label)
    return {"size": plan.size, "threads": plan.threads, "updates": updates, "entries": found}


def start(entry: Entry, plan: Plan) -> Contender:
    job = {
        "kind": "regard",
        "size": plan.size,
        "folder": str(plan.folder),
        "processes": entry.processes,
        "threads": entry.threads,
    }
    name = f"busy-{plan.size}-{entry.name}"
    return Contender(name, "benchmarks.updates", job, WAITING[entry.waiting], plan.logs)


def table(result: dict[str, Any]) -> str:
    """A table with both speeds: a way of waiting that keeps most of its speed may still be slow on
    a quiet machine.
    """
    entries = result["entries"]
    quickest = max(statistics.median(each["rates"]) for each in entries)
    rows = [
        [
            f"{each['processes']} × {each['threads']}",
            each["waiting"],
            speed(each["rates"]),
            f"{statistics.median(each['rates']) / quickest:.0%}",
            speed(each["busy_rates"]),
            str(paired_ratio(each["busy_rates"], each["rates"])),
        ]
        for each in entries
    ]
    header = [
        *("processes × threads", "waiting", "tokens/s alone (best)", "of the quickest"),
        *("beside a busy program (best)", "kept"),
    ]
    rounds = len(entries[0]["rates"])
    return (
        f"**{result['size']}**, {rounds} rounds of {result['updates']} updates, a quarter of them "
        f"beside a loop that never rests on one of {result['threads']} cores.\n\n"
        + markdown(header, rows)
    )
