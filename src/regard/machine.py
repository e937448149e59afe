"""What this machine can do: device, precision, threads and memory allocation."""

import ctypes
import os
import platform
import subprocess
import sys

import torch

from regard.errors import RecipeError

# glibc's mallopt: keep big buffers instead of returning them to the system after every operation.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3

BFLOAT16_TRIAL = """
import time, torch
def seconds(dtype):
    a = torch.randn(1024, 512, dtype=dtype)
    a @ a.T
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        a @ a.T
        best = min(best, time.perf_counter() - start)
    return best
print("faster" if seconds(torch.bfloat16) < 0.8 * seconds(torch.float32) else "slower")
"""


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


def usable_cores() -> int:
    """The cores this process may run on, which a container may have narrowed."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def choose_device(name: str) -> torch.device:
    """A device by name; "auto" takes CUDA, then Apple's MPS, then the CPU."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        if torch.backends.mps.is_available():
            return torch.device("mps")
        return torch.device("cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # "meta" has no numbers
    except (RuntimeError, AssertionError, NotImplementedError):
        raise RecipeError(
            f'device "{name}": not on this machine; use "auto", or "cpu" which is everywhere'
        ) from None
    return device


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """The type of the products. A CPU that only claims bfloat16 would kill the process, so it is
    tried in a child first; "auto" uses it only where it is faster.
    """
    if name == "float32":
        return torch.float32
    if device.type == "cuda":
        return torch.bfloat16
    found = bfloat16_on_cpu() if device.type == "cpu" else "unsafe"
    if found == "faster" or (name == "bfloat16" and found == "slower"):
        return torch.bfloat16
    if name == "bfloat16":
        raise RecipeError(
            f"precision bfloat16: {device.type} on this machine cannot run it; use float32"
        )
    return torch.float32


def bfloat16_on_cpu() -> str:
    """ "faster", "slower" or "unsafe", found out in a child process."""
    flags = cpu_flags()
    if "amx_bf16" not in flags and "avx512_bf16" not in flags:
        return "slower"
    try:
        child = subprocess.run(
            [sys.executable, "-c", BFLOAT16_TRIAL], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unsafe"
    return child.stdout.strip() if child.returncode == 0 else "unsafe"


def cpu_flags() -> set[str]:
    """The instruction sets the CPU names, where the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("flags"):
                    return set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return set()
