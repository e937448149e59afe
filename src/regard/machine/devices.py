"""The device and precision that a model computes with, and the speed of its products."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

import torch

from regard.errors import RecipeError, RequestError
from regard.layers.linear import FEWEST_SEQUENCES, Linear, words_of_the_cpu

CPU = torch.device("cpu")
# How long products are measured before a training.
MEASURED_SECONDS = 0.3

BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})  # the last one of ARM
BFLOAT16_TRIAL = """
import torch
import torch.nn.functional as F
a = torch.randn(16, 64, 256, dtype=torch.bfloat16, requires_grad=True)
b = F.linear(a, a[0]).softmax(-1) @ a
F.conv2d(b[:, None], a[:16, None, :3, :3]).sum().backward()
"""


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
    float32 elsewhere: older cards only emulate them. On a CPU, a training then measures whether
    bfloat16 is faster (regard.training.precision).
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


def claims_bfloat16() -> bool:
    """Whether this CPU says that it has products of bfloat16; others only emulate them."""
    return not BFLOAT16_FLAGS.isdisjoint(words_of_the_cpu())


def bfloat16_runs() -> bool:
    """Whether bfloat16 products work here. A CPU that only claims them would kill the process, so
    they are tried in a child.
    """
    try:
        child = subprocess.run(
            [sys.executable, "-c", BFLOAT16_TRIAL], capture_output=True, timeout=120
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return child.returncode == 0


def gemm_rate(
    device: torch.device = CPU,
    dtype: torch.dtype = torch.float32,
    threads: int = 0,
    seconds: float | None = None,
) -> float:
    """FLOP/s of a feed-forward layer's product, the best of several within `seconds`.

    The products of a model reach at most this speed here. 0 threads leaves torch's number.
    """
    seconds = MEASURED_SECONDS if seconds is None else seconds
    before = torch.get_num_threads()
    if threads:
        torch.set_num_threads(threads)
    # Less would not fill a graphics card; a CPU may only emulate a type, a hundred times slower.
    width = 512 if device.type == "cpu" else 2048
    if device.type == "cpu" and dtype != torch.float32 and slow_product(dtype, seconds):
        width = 64
    try:
        layer = Linear(width, 4 * width, bias=False, device=device, dtype=dtype)
        shape = (FEWEST_SEQUENCES, 4 * width // FEWEST_SEQUENCES, width)
        rows = torch.randn(shape, device=device, dtype=dtype)
        return fastest(lambda: layer(rows), device, seconds) * 2 * rows.numel() * 4 * width
    finally:
        torch.set_num_threads(before)


def loss_rate() -> float:
    """FLOP/s of the projection on a vocabulary on a CPU, which PyTorch's plain product computes."""
    rows, weight = torch.randn(2048, 512), torch.randn(512, 2048)
    product = rows @ weight
    work = 2 * rows.numel() * weight.size(1)
    return work * fastest(lambda: torch.mm(rows, weight, out=product), CPU, MEASURED_SECONDS)


@torch.no_grad()
def fastest(product: Callable[[], object], device: torch.device, seconds: float) -> float:
    """How many of the fastest product a second has; the first one is not measured."""
    product()
    best, until = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < until or best == float("inf"):
        synchronise(device)
        started = time.perf_counter()
        product()
        synchronise(device)
        best = min(best, time.perf_counter() - started)
    return 1 / best


def slow_product(dtype: torch.dtype, seconds: float) -> bool:
    """Whether a product of full size would take longer, estimated from one of 1/512 its size."""
    table = torch.ones(64, 64, dtype=dtype)
    started = time.perf_counter()
    _ = table.repeat(4, 1) @ table.repeat(1, 4)
    return 512 * (time.perf_counter() - started) > seconds


def synchronise(device: torch.device) -> None:
    """Wait until the device has finished its work; a CPU always has."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def compiler() -> str | None:
    """The C++ compiler that torch.compile would call, if there is one."""
    names = (os.environ.get("CXX", ""), "g++", "clang++", "c++")
    return next((path for name in names if (path := shutil.which(name))), None)
