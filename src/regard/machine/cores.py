"""The cores this process may use: its own, and as many as a container allows. No PyTorch here."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

# Where Linux shows what a process may use.
PROCESSES, CONTROL_GROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def wait_briefly() -> None:
    """Let threads that wait for each other spin for a short time only. Long spins make training
    several times slower as soon as another program takes a core; short ones cost nothing on a quiet
    machine. libgomp reads this when PyTorch is loaded.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def usable_cores() -> int:
    """The number of cores this process may use, within the limits of its container."""
    return max(1, min([len(own_cores()), *map(int, core_quotas())]))


def own_cores() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def core_quotas() -> Iterator[float]:
    """The limits, in cores, that the control groups of this process set, where they set any."""
    for group in control_groups("cpu"):
        quota = words(group / "cpu.max") or [
            *words(group / "cpu.cfs_quota_us"),
            *words(group / "cpu.cfs_period_us"),
        ]
        if len(quota) == 2 and quota[0].isdigit():  # "max" and -1 are no limit
            yield int(quota[0]) / int(quota[1])


def busy_cores(seconds: float = 0.3) -> float:
    """How many of our cores other programs use, measured for a moment, or else from the load."""
    before, own, started = core_ticks(), time.process_time(), time.perf_counter()
    if not before[1]:
        return min(os.getloadavg()[0], len(own_cores())) if hasattr(os, "getloadavg") else 0.0
    time.sleep(seconds)
    after, own = core_ticks(), time.process_time() - own
    ours = own / (time.perf_counter() - started)
    share = (after[0] - before[0]) / max(1, after[1] - before[1])
    return max(0.0, share * len(own_cores()) - ours)


def core_ticks() -> tuple[int, int]:
    """Busy time and all time of our cores since the machine started; 0, 0 where unknown."""
    ours = {f"cpu{core}" for core in own_cores()}
    busy = total = 0
    for line in lines(PROCESSES / "stat"):
        name, *numbers = line.split()
        if name in ours:
            user, nice, system, idle, waiting, *interrupts = map(int, numbers[:8])
            working = user + nice + system + sum(interrupts)
            busy += working
            total += working + idle + waiting
    return busy, total


def control_groups(controller: str) -> Iterator[Path]:
    """The groups that limit this process, from its own to the outermost, of either version.

    In a container the process's own group may be invisible; the outermost is the container's.
    """
    for line in lines(PROCESSES / "self" / "cgroup"):
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        top = CONTROL_GROUPS / controller if names else CONTROL_GROUPS
        own = top / path.strip("/")
        yield from (group for group in (own, *own.parents) if group.is_relative_to(top))


def words(path: Path) -> list[str]:
    return [word for line in lines(path) for word in line.split()]


def lines(path: Path) -> list[str]:
    """The lines of a small system file; none where there is no such file."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
