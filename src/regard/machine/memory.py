"""The memory this process may use, and how the C library keeps it. No PyTorch here."""

import ctypes
import os
import platform
from collections.abc import Iterator

from regard.machine import cores
from regard.machine.cores import control_groups, lines, words

# glibc's mallopt: keep big buffers instead of returning them to the system after every operation.
# Other threads than the first have heaps that are too small for these, unless all share one.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8


def keep_big_buffers() -> bool:
    """Make the C library reuse large allocations; True if it accepted."""
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
            (M_ARENA_MAX, 1),
        )
    )


def free_memory() -> int | None:
    """Bytes this process may still take; None where the system does not say."""
    free = memory_info().get("MemAvailable") or pages("SC_AVPHYS_PAGES")
    if free is None:
        return None
    return max(0, min([free, *(limit - used for limit, used in memory_limits())]))


def total_memory() -> int | None:
    """Bytes this process could have if it were alone; None where the system does not say."""
    total = memory_info().get("MemTotal") or pages("SC_PHYS_PAGES")
    return None if total is None else min([total, *(limit for limit, _ in memory_limits())])


def memory_limits() -> Iterator[tuple[int, int]]:
    """(limit, used) in bytes of each control group; cached files do not count as used."""
    for group in control_groups("memory"):
        limit = words(group / "memory.max") or words(group / "memory.limit_in_bytes")
        used = words(group / "memory.current") or words(group / "memory.usage_in_bytes")
        if limit and used and limit[0].isdigit():
            numbers = words(group / "memory.stat")
            stat = dict(zip(numbers[::2], numbers[1::2], strict=False))
            kept = stat.get("total_inactive_file") or stat.get("inactive_file", "0")
            yield int(limit[0]), int(used[0]) - int(kept)


def memory_info() -> dict[str, int]:
    """Bytes by name, as Linux reports them."""
    fields = (line.split() for line in lines(cores.PROCESSES / "meminfo"))
    return {name.rstrip(":"): 1024 * int(value) for name, value, *_ in fields}


def pages(name: str) -> int | None:
    """A number of pages in bytes, as other systems report it."""
    try:
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
