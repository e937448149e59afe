"""A linear map from the past of a series to its future: what other models are compared with.

Shapes: B windows, C steps of context, H of horizon, K known columns, D parameters of a value.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from regard.configs.series import SeriesLinearConfig, SeriesSizes
from regard.data.series_windows import SeriesBatch
from regard.layers.distributions import DISTRIBUTIONS
from regard.layers.series import Known, LinearStart, shifted


class SeriesLinear(nn.Module):
    """ŷ = W (x − Uk) + b + Uk: what the known columns explain is taken away from the past and added
    to the future. How wide the forecast is depends on the step alone.
    """

    def __init__(self, config: SeriesLinearConfig, sizes: SeriesSizes) -> None:
        super().__init__()
        self.config = config
        self.sizes = sizes
        self.known = Known(sizes.known)
        self.explained = nn.Parameter(torch.zeros(sizes.known))
        self.output = LinearStart(sizes.context, sizes.horizon, sizes.season)
        self.shape = nn.Parameter(torch.zeros(sizes.horizon, DISTRIBUTIONS[config.head].size))

    @torch.no_grad()
    def initialise(self, sample: SeriesBatch, windows: Iterable[SeriesBatch]) -> None:
        """Fit a new model to windows like those that it will learn from."""
        self.known.initialise(sample.known.flatten(0, 1))
        self.output.fit((each.past, each.future) for each in windows)
        left = sample.future - self.output(sample.past)
        self.shape.copy_(DISTRIBUTIONS[self.config.head].fitted(left))

    def predicted(self, batch: SeriesBatch) -> tuple[Tensor, Tensor]:
        """What training compares: the parameters of values, and these values."""
        return self(batch.past, batch.known), batch.future

    def forward(self, past: Tensor, known: Tensor) -> Tensor:
        """[B, C] with NaN where a value is missing, [B, C + H, K] → [B, H, D]"""
        context = self.sizes.context
        explained = self.known(known) @ self.explained
        centre = self.output(past - explained[:, :context]) + explained[:, context:]
        return shifted(self.shape.expand(len(past), -1, -1), centre, self.config.head)
