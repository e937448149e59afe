"""Linear maps, computed in the type of what they are given by the faster of PyTorch's two
libraries for CPUs.

PyTorch multiplies matrices with MKL, which uses only half of the width of the vector units of AMD's
processors. Convolutions are computed by oneDNN, which uses all of it, and a linear map is a
convolution of one pixel: the same sums, in half the time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# With fewer sequences PyTorch does not call oneDNN; with fewer vectors it does not pay off.
FEWEST_SEQUENCES, FEWEST_VECTORS = 16, 256


class Linear(nn.Linear):
    """As nn.Linear; only the rounding may differ."""

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, d] → [B, T, out_features]"""
        return linear(x, self.weight, self.bias)

    def part(self, x: Tensor, outputs: slice) -> Tensor:
        """Some of the outputs: [B, T, d] → [B, T, …]"""
        return linear(x, self.weight[outputs], self.bias[outputs])


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """As F.linear, in the type of x."""
    if x.dtype == torch.bfloat16 and weight.dtype == torch.float32:
        return F.linear(x, weight.to(x.dtype), None if bias is None else bias.to(x.dtype))
    if not (
        x.dim() == 3
        and x.size(0) >= FEWEST_SEQUENCES
        and x.size(0) * x.size(1) >= FEWEST_VECTORS
        and x.dtype == torch.float32
        and x.device.type == "cpu"
        and not torch.is_autocast_enabled("cpu")
        and convolutions_are_faster()
    ):
        return F.linear(x, weight, bias)
    # Vectors are the channels of an image of T × 1 pixels, and they are last in memory.
    pixels = x.contiguous()[:, :, None].permute(0, 3, 1, 2)
    mapped = F.conv2d(pixels, weight[:, :, None, None], bias)
    return mapped.permute(0, 2, 3, 1)[:, :, 0]


@cache
def convolutions_are_faster() -> bool:
    """Whether this is an AMD processor with the wide vectors that MKL leaves unused there. It is
    not measured: the same machine has to compute the same numbers every time.
    """
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    return "AuthenticAMD" in words_of_the_cpu()


@contextmanager
def fast_products() -> Iterator[None]:
    """Inside the block, products of matrices in float32 are oneDNN's where that is faster, too.

    PyTorch gives them to it only if it may round to bfloat16. AMD's processors never do in a
    product of float32, which is made sure of.
    """
    if not (convolutions_are_faster() and exact_if_allowed_to_round()):
        yield
        return
    with allowed_to_round():
        yield


@contextmanager
def allowed_to_round() -> Iterator[None]:
    products = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = products.fp32_precision
    products.fp32_precision = "bf16"
    try:
        yield
    finally:
        products.fp32_precision = before


@cache
def exact_if_allowed_to_round() -> bool:
    """Whether a product has digits that bfloat16 has not."""
    digits = torch.full((64, 64), 1 + 2.0**-12)
    with allowed_to_round():
        product = digits @ digits
    return bool(((product / 64 - 1) / 2.0**-11 > 0.99).all())


def words_of_the_cpu() -> frozenset[str]:
    """What Linux says of the first core, its maker and its instructions; elsewhere nothing."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return frozenset(file.read(8192).split())
    except OSError:
        return frozenset()
