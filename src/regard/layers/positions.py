"""Positions of tokens: sinusoidal encodings (§3.5), learned ones, and rotary positions."""

import math

import torch
from torch import Tensor, nn


def sinusoids(length: int, d_model: int, amplitude: float = 1.0, base: float = 10000.0) -> Tensor:
    """[length, d_model]: PE(pos, 2i) = sin(pos / base^{2i/d}), PE(pos, 2i+1) = cos of that
    angle.
    """
    if torch.get_default_device().type == "meta":  # only the shape is needed
        return torch.empty(length, d_model, dtype=torch.float64)
    position = torch.arange(length, dtype=torch.float64)[:, None]
    rate = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(base) / d_model))
    table = torch.zeros(length, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)[:, : d_model // 2]
    return amplitude * table


class Sinusoidal(nn.Module):
    """Encodings from a formula: nothing to learn, nothing to save, and no limit to the length."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.table: Tensor
        self.register_buffer("table", sinusoids(256, d_model).float(), persistent=False)

    def forward(self, start: int, length: int, like: Tensor) -> Tensor:
        """[length, d_model] for positions start … start + length - 1, in the type of `like`."""
        if start + length > self.table.size(0):
            # A table made in inference mode could not be used for training afterwards.
            with torch.inference_mode(False):
                self.table = sinusoids(2 * (start + length), self.d_model).float().to(self.table)
        return self.table[start : start + length].to(like.dtype)


class Learned(nn.Module):
    """One trained vector per position. Inputs with more positions than vectors are refused."""

    def __init__(self, max_positions: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_positions, d_model))
        nn.init.normal_(self.table, std=d_model**-0.5)

    def forward(self, start: int, length: int, like: Tensor) -> Tensor:
        if start + length > self.table.size(0):
            raise ValueError(
                f"position {start + length} asked for, there are {self.table.size(0)} learned ones"
            )
        return self.table[start : start + length]


class Rotary(nn.Module):
    """Angles by which queries and keys are rotated (Su et al. 2021), so that only differences of
    positions matter.
    """

    def __init__(self, d_k: int) -> None:
        super().__init__()
        if d_k % 2:
            raise ValueError(f"rotary positions turn pairs of numbers; a head of {d_k} is odd")
        self.d_k = d_k
        self.table: Tensor
        self.register_buffer("table", self.angles(256), persistent=False)

    def angles(self, length: int) -> Tensor:
        """[length, d_k / 2, 2]: cosine and sine of each pair's angle."""
        waves = sinusoids(length, self.d_k)
        turns = torch.empty(length, self.d_k // 2, 2)
        turns[..., 0], turns[..., 1] = waves[:, 1::2], waves[:, 0::2]
        return turns

    def forward(self, start: int, length: int, like: Tensor) -> Tensor:
        if start + length > self.table.size(0):
            with torch.inference_mode(False):
                self.table = self.angles(2 * (start + length)).to(self.table)
        return self.table[start : start + length].to(like.dtype)


def rotate(x: Tensor, rotation: Tensor) -> Tensor:
    """Rotate each pair of numbers of [B, h, T, d_k] by the angle of its position."""
    pairs = x.unflatten(-1, (-1, 2))
    cosine, sine = rotation[..., 0], rotation[..., 1]
    turned = torch.stack(
        (
            pairs[..., 0] * cosine - pairs[..., 1] * sine,
            pairs[..., 0] * sine + pairs[..., 1] * cosine,
        ),
        dim=-1,
    )
    return turned.flatten(-2).to(x.dtype)
