"""Windows of series: a part of the past, and what follows it. Each is scaled by its own past.

Shapes: B windows of a batch, C steps of context, H of horizon, K known columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batches import Indices
from regard.layers.choices import Scaling

Values = NDArray[np.float64]


class SeriesBatch(NamedTuple):
    """Windows, scaled; NaN where a value is missing."""

    past: Tensor  # [B, C]
    future: Tensor  # [B, H]
    known: Tensor  # [B, C + H, K]

    def to(self, device: torch.device) -> "SeriesBatch":
        return SeriesBatch(*(each.to(device) for each in self))


class Scale(NamedTuple):
    """What is subtracted from each window, and what it is divided by: [B]."""

    centre: Values
    width: Values

    def apply(self, values: Values) -> Values:
        return (values - self.centre[:, None]) / self.width[:, None]

    def undo(self, values: Values) -> Values:
        """[B, …] → [B, …]"""
        shape = (-1, *[1] * (values.ndim - 1))
        return values * self.width.reshape(shape) + self.centre.reshape(shape)


def scale_of(past: Values, scaling: Scaling) -> Scale:
    """The scale of each window [B, C], by the values that are there; at least one of each is."""
    there = ~np.isnan(past)
    count = there.sum(1).clip(min=1)
    filled = np.where(there, past, 0.0)
    size = np.abs(filled).sum(1) / count
    if scaling == "absolute":
        return Scale(np.zeros(len(past)), np.where(size > 0, size, 1.0))
    mean = filled.sum(1) / count
    width = np.sqrt((np.where(there, past - mean[:, None], 0.0) ** 2).sum(1) / count)
    # The past of a constant series says nothing of how much it will vary.
    width = np.maximum(width, 1e-3 * size)
    if scaling == "last":
        last = past.shape[1] - 1 - there[:, ::-1].argmax(1)
        mean = filled[np.arange(len(past)), last]
    return Scale(mean, np.where(width > 0, width, 1.0))


@dataclass(frozen=True)
class LaidOut:
    """Series one after the other in one array, with room for a context before each and a horizon
    after it, so that every window is a slice.
    """

    values: Values  # [N], NaN where a value is missing, and where there is room
    known: NDArray[np.float32]  # [N, K]
    starts: Indices  # where each series begins
    lengths: Indices
    context: int
    horizon: int

    @classmethod
    def of(
        cls,
        series: Sequence[tuple[Values, NDArray[np.floating]]],
        context: int,
        horizon: int,
    ) -> "LaidOut":
        """Values [T] and known columns [T …, K] of each series; what is not known is NaN."""
        lengths = np.array([len(values) for values, _ in series], np.int64)
        room = lengths + context + horizon
        starts = room.cumsum() - room + context
        columns = series[0][1].shape[1] if series else 0
        laid = np.full(room.sum(), np.nan)
        known = np.full((len(laid), columns), np.nan, np.float32)
        for (values, columns_of), start in zip(series, starts, strict=True):
            laid[start : start + len(values)] = values
            there = columns_of[: len(values) + horizon]
            known[start : start + len(there)] = there
        return cls(laid, known, starts, lengths, context, horizon)

    def slices(self, places: Indices) -> tuple[Values, NDArray[np.float32]]:
        """The windows at these places [B, 2]: values [B, C + H], known columns [B, C + H, K]."""
        first = self.starts[places[:, 0]] + places[:, 1] - self.context
        steps = first[:, None] + np.arange(self.context + self.horizon)
        return self.values[steps], self.known[steps]

    def places(self, first: Indices, last: Indices, every: int = 1) -> Indices:
        """The windows [N, 2] of each series whose future begins from step `first` to step `last`,
        counted from the last one on: the series, and where the future begins. Windows without any
        value before it, or after it, are left out.
        """
        found = [np.zeros((0, 2), np.int64)]
        for number, (start, length) in enumerate(zip(self.starts, self.lengths, strict=True)):
            origins = np.arange(last[number], first[number] - 1, -every)[::-1]
            origins = origins[(origins > 0) & (origins <= length)]
            there = ~np.isnan(self.values[start - self.context : start + length + self.horizon])
            count = np.concatenate(([0], there.cumsum()))
            now = origins + self.context
            past = count[now] - count[now - self.context]
            future = count[now + self.horizon] - count[now]
            kept = origins[(past > 0) & (future > 0)]
            found.append(np.stack((np.full(len(kept), number), kept), 1))
        return np.concatenate(found)


@dataclass(frozen=True)
class Windows:
    """Windows of series that a model learns from, or is validated on."""

    series: LaidOut
    places: Indices  # [N, 2], as `LaidOut.places` finds them
    scaling: Scaling

    def __len__(self) -> int:
        return len(self.places)

    def batch(self, rows: Indices) -> SeriesBatch:
        return self.scaled(rows)[0]

    def scaled(self, rows: Indices) -> tuple[SeriesBatch, Scale, Values]:
        """These windows, what they were scaled by, and what followed them, [B, H]."""
        values, known = self.series.slices(self.places[rows])
        return *scaled(values, known, self.series.context, self.scaling), values[
            :, self.series.context :
        ]


def scaled(
    values: Values, known: NDArray[np.float32], context: int, scaling: Scaling
) -> tuple[SeriesBatch, Scale]:
    """Windows [B, C + H] as a model reads them."""
    scale = scale_of(values[:, :context], scaling)
    numbers = torch.from_numpy(scale.apply(values).astype(np.float32))
    return SeriesBatch(numbers[:, :context], numbers[:, context:], torch.from_numpy(known)), scale
