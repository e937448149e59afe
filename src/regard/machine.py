"""What this machine can do: device, precision, cores, memory, speed."""

import ctypes
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from regard.errors import RecipeError, RequestError

CPU = torch.device("cpu")

# glibc's mallopt: keep big buffers instead of returning them to the system after every operation.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3

BFLOAT16_TRIAL = """
import torch
a = torch.randn(256, 512, dtype=torch.bfloat16, requires_grad=True)
(a @ a.T).sum().backward()
"""

# Where Linux tells what a process may use.
PROCESSES, CONTROL_GROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def keep_big_buffers() -> bool:
    """Tell the C library to reuse large allocations; True where it understood."""
    if platform.system() != "Linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    limit = 1 << 30
    return all(
        mallopt(option, value)
        for option, value in (
            (M_MMAP_THRESHOLD, limit),
            (M_TRIM_THRESHOLD, limit),
            (M_TOP_PAD, 1 << 26),
        )
    )


def choose_device(name: str) -> torch.device:
    """A device by name; "auto" takes CUDA, then Apple's MPS, then the CPU."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        if torch.backends.mps.is_available():
            return torch.device("mps")
        return CPU
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # "meta" has no numbers
    except (RuntimeError, AssertionError, NotImplementedError):
        raise RequestError(
            f'device "{name}": not on this machine; use "auto", or "cpu" which is everywhere'
        ) from None
    return device


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """The type of the products. "auto" is bfloat16 on CUDA cards that have such products, and
    float32 elsewhere: older cards only imitate them, and on CPUs the casts cost a small model more
    than the faster products save.
    """
    if device.type == "cuda":
        native = name == "auto" and torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if native or name == "bfloat16" else torch.float32
    if name != "bfloat16":
        return torch.float32
    if device.type == "cpu" and bfloat16_runs():
        return torch.bfloat16
    raise RecipeError(
        f"precision bfloat16: {device.type} on this machine cannot run it; use float32"
    )


def bfloat16_runs() -> bool:
    """Whether bfloat16 products work here. A CPU that only claims them would kill the process, so
    they are tried in a child.
    """
    try:
        child = subprocess.run(
            [sys.executable, "-c", BFLOAT16_TRIAL], capture_output=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return child.returncode == 0


def gemm_rate(
    device: torch.device = CPU,
    dtype: torch.dtype = torch.float32,
    threads: int = 0,
    seconds: float = 0.3,
) -> float:
    """FLOP/s of a feed-forward layer's product, the best of those done in `seconds`.

    That is what the products of a model can reach here at most. 0 threads are those of torch.
    """
    before = torch.get_num_threads()
    if threads:
        torch.set_num_threads(threads)
    # A graphics card is not busy with less; a CPU may only imitate a type, a hundred times slower.
    width = 512 if device.type == "cpu" else 2048
    if device.type == "cpu" and dtype != torch.float32 and slow_product(dtype, seconds):
        width = 64
    try:
        rows = torch.randn(4 * width, width, device=device, dtype=dtype)
        weight = torch.randn(width, 4 * width, device=device, dtype=dtype)
        product = rows @ weight
        best, until = float("inf"), time.perf_counter() + seconds
        while time.perf_counter() < until or best == float("inf"):
            synchronise(device)
            started = time.perf_counter()
            torch.mm(rows, weight, out=product)
            synchronise(device)
            best = min(best, time.perf_counter() - started)
    finally:
        torch.set_num_threads(before)
    return 2 * rows.numel() * weight.size(1) / best


def slow_product(dtype: torch.dtype, seconds: float) -> bool:
    """Whether one product of full size would take longer than that, told by one of 1/512."""
    table = torch.ones(64, 64, dtype=dtype)
    started = time.perf_counter()
    _ = table.repeat(4, 1) @ table.repeat(1, 4)
    return 512 * (time.perf_counter() - started) > seconds


def synchronise(device: torch.device) -> None:
    """Wait until the device has done what it was given; a CPU has."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def compiler() -> str | None:
    """The C++ compiler that torch.compile would call, if there is one."""
    names = (os.environ.get("CXX", ""), "g++", "clang++", "c++")
    return next((path for name in names if (path := shutil.which(name))), None)


def usable_cores() -> int:
    """The cores this process may run on, which a container may have narrowed."""
    return max(1, min([len(own_cores()), *map(int, core_quotas())]))


def own_cores() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def core_quotas() -> Iterator[float]:
    """How many cores' time the control groups of this process allow, where one does not say all."""
    for group in control_groups("cpu"):
        quota = words(group / "cpu.max") or [
            *words(group / "cpu.cfs_quota_us"),
            *words(group / "cpu.cfs_period_us"),
        ]
        if len(quota) == 2 and quota[0].isdigit():  # "max" and -1 are no limit
            yield int(quota[0]) / int(quota[1])


def busy_cores(seconds: float = 0.3) -> float:
    """How many of our cores other programs take, seen over a moment, or else from the load."""
    before, own, started = core_ticks(), time.process_time(), time.perf_counter()
    if not before[1]:
        return min(os.getloadavg()[0], len(own_cores())) if hasattr(os, "getloadavg") else 0.0
    time.sleep(seconds)
    after, own = core_ticks(), time.process_time() - own
    ours = own / (time.perf_counter() - started)
    share = (after[0] - before[0]) / max(1, after[1] - before[1])
    return max(0.0, share * len(own_cores()) - ours)


def core_ticks() -> tuple[int, int]:
    """Time that our cores were busy, and all time, since the machine started; 0, 0 if not told."""
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


def free_memory() -> int | None:
    """Bytes this process may still take; None where the system does not tell."""
    free = memory_info().get("MemAvailable") or pages("SC_AVPHYS_PAGES")
    if free is None:
        return None
    return max(0, min([free, *(limit - used for limit, used in memory_limits())]))


def total_memory() -> int | None:
    """Bytes this process could have if it were alone; None where the system does not tell."""
    total = memory_info().get("MemTotal") or pages("SC_PHYS_PAGES")
    return None if total is None else min([total, *(limit for limit, _ in memory_limits())])


def memory_limits() -> Iterator[tuple[int, int]]:
    """(limit, used) in bytes of each control group; files that could be read again are not used."""
    for group in control_groups("memory"):
        limit = words(group / "memory.max") or words(group / "memory.limit_in_bytes")
        used = words(group / "memory.current") or words(group / "memory.usage_in_bytes")
        if limit and used and limit[0].isdigit():
            numbers = words(group / "memory.stat")
            stat = dict(zip(numbers[::2], numbers[1::2], strict=False))
            kept = stat.get("total_inactive_file") or stat.get("inactive_file", "0")
            yield int(limit[0]), int(used[0]) - int(kept)


def memory_info() -> dict[str, int]:
    """Bytes by name, as Linux tells them."""
    fields = (line.split() for line in lines(PROCESSES / "meminfo"))
    return {name.rstrip(":"): 1024 * int(value) for name, value, *_ in fields}


def pages(name: str) -> int | None:
    """A number of pages in bytes, as other systems tell it."""
    try:
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def control_groups(controller: str) -> Iterator[Path]:
    """The groups that limit this process, from its own to the outermost, of either version.

    In a container the own group may not be there to see; the outermost is then the container's.
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
    """A small file of the system; none where it has no such file."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
