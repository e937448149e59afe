"""Linear maps, computed by the faster of PyTorch's two libraries for CPUs.

PyTorch multiplies matrices with MKL, which uses only half of the width of the vector units of AMD's
processors. Convolutions are computed by oneDNN, which uses all of it, and a linear map is a
convolution of one pixel: the same sums, in half the time.
"""

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
        if not (
            x.dim() == 3
            and x.size(0) >= FEWEST_SEQUENCES
            and x.size(0) * x.size(1) >= FEWEST_VECTORS
            and x.dtype == torch.float32
            and x.device.type == "cpu"
            and not torch.is_autocast_enabled("cpu")
            and convolutions_are_faster()
        ):
            return F.linear(x, self.weight, self.bias)
        # Vectors are the channels of an image of T × 1 pixels, and they are last in memory.
        pixels = x.contiguous()[:, :, None].permute(0, 3, 1, 2)
        mapped = F.conv2d(pixels, self.weight[:, :, None, None], self.bias)
        return mapped.permute(0, 2, 3, 1)[:, :, 0]


@cache
def convolutions_are_faster() -> bool:
    """Whether this is an AMD processor with the wide vectors that MKL leaves unused there. It is
    not measured: the same machine has to compute the same numbers every time.
    """
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return "AuthenticAMD" in file.read(4096)
    except OSError:
        return False
