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
import torch
a = torch.randn(256, 512, dtype=torch.bfloat16, requires_grad=True)
(a @ a.T).sum().backward()
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
    """The type of the products. "auto" is bfloat16 on CUDA and float32 elsewhere: on CPUs the casts
    cost a small model more than the faster products save.
    """
    if device.type == "cuda":
        return torch.float32 if name == "float32" else torch.bfloat16
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
