"""What every model of series begins with.

Shapes: B windows, C steps of context, H of horizon, L = C + H, P steps of a patch, N patches,
K known columns, S starts, M steps of a season, d d_model.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from regard.layers.choices import Head
from regard.layers.linear import Linear

# Errors beyond this many widths of a window count as this much, so that no window decides alone.
FURTHEST = 10.0
# The first weights of a linear map count as much as this many windows of the data.
PRIOR_WINDOWS = 3000
# A map of a longer past keeps its first weights: fitting it would take gigabytes.
LONGEST_FITTED = 4096


class Known(nn.Module):
    """Columns that are known for the future, too, with mean 0 and variance 1 over the data. The
    statistics are saved with the weights.
    """

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.mean: Tensor
        self.std: Tensor
        self.register_buffer("mean", torch.zeros(columns))
        self.register_buffer("std", torch.ones(columns))

    @torch.no_grad()
    def initialise(self, known: Tensor) -> None:
        """Measure the statistics on values [N, K] of the data, some of which may be missing."""
        values, there = known.double().nan_to_num(0.0), ~known.isnan()
        count = there.sum(0).clamp(min=1)
        mean = values.sum(0) / count
        variance = ((values - mean).square() * there).sum(0) / count
        self.mean.copy_(mean)
        # A column that never changes stays 0.
        self.std.copy_(torch.where(variance > 0, variance.sqrt(), 1.0))

    def forward(self, known: Tensor) -> Tensor:
        """[…, K] → […, K], 0 where a value is missing."""
        return ((known - self.mean) / self.std).nan_to_num(0.0)


class PatchEmbedding(nn.Module):
    """A vector of each patch: its values, which of them are there, and what is known of them."""

    def __init__(self, patch_size: int, known: int, d_model: int) -> None:
        super().__init__()
        self.projection = Linear(patch_size * (2 + known), d_model)

    def forward(self, values: Tensor, known: Tensor) -> Tensor:
        """[B, N, P] with NaN where a value is missing, and [B, N, P, K] → [B, N, d]"""
        there = ~values.isnan()
        parts = torch.stack((values.nan_to_num(0.0), there.to(values)), -1)
        return self.projection(torch.cat((parts, known), -1).flatten(2))  # type: ignore[no-any-return]


def patches(values: Tensor, size: int) -> Tensor:
    """[B, L, …] → [B, N, P, …]; NaN fills the last patch where the steps do not."""
    if more := -values.size(1) % size:
        missing = values.new_full((len(values), more, *values.shape[2:]), torch.nan)
        values = torch.cat((values, missing), 1)
    return values.unflatten(1, (-1, size))  # type: ignore[no-any-return]


class LinearStart(nn.Linear):
    """What a forecast of many steps starts from: a linear map from the past, fitted to the data
    before the first update. A model learns how the future differs from it.
    """

    def __init__(self, context: int, horizon: int, season: int) -> None:
        super().__init__(context, horizon)
        self.reset(min(season, context))

    @torch.no_grad()
    def reset(self, season: int) -> None:
        """At first each forecast is the mean of the same part of all seasons before it."""
        # On the CPU also where weights have no memory, which would load PyTorch's compiler.
        past = torch.arange(self.in_features, device="cpu")
        future = torch.arange(self.out_features, device="cpu")
        same = (future[:, None] - past + self.in_features) % season == 0
        self.weight.copy_(same / same.sum(1, keepdim=True))
        self.bias.zero_()

    @torch.no_grad()
    def fit(self, windows: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Ridge regression of futures [B, H] on pasts [B, C], towards the first weights."""
        if self.in_features > LONGEST_FITTED:
            return
        squares = products = past_sum = error_sum = torch.zeros((), dtype=torch.float64)
        count = 0
        first = self.weight.T.cpu().double()
        for given, future in windows:
            past = given.cpu().double().nan_to_num(0.0)
            errors = (future.cpu().double() - past @ first).nan_to_num(0.0)
            errors = errors.clamp(-FURTHEST, FURTHEST)
            squares = squares + past.T @ past
            products = products + past.T @ errors
            past_sum, error_sum = past_sum + past.sum(0), error_sum + errors.sum(0)
            count += len(past)
        # The mean error of a step is left to the head of the model.
        products = products - past_sum[:, None] * error_sum / count
        pull = PRIOR_WINDOWS * torch.eye(self.in_features, dtype=torch.float64)
        self.weight += torch.linalg.solve(squares + pull, products).T.to(self.weight)

    def forward(self, past: Tensor) -> Tensor:
        """[B, C] with NaN where a value is missing → [B, H]"""
        return super().forward(past.nan_to_num(0.0))


class LastSeason(nn.Module):
    """What a forecast of the next patch starts from: the values of the last season, each times a
    weight that is learned and begins as 1. A model learns how the future differs from them.
    """

    def __init__(self, season: int, steps: int) -> None:
        super().__init__()
        self.season = season
        self.weight = nn.Parameter(torch.ones(steps))

    def forward(self, recent: Tensor) -> Tensor:
        """The last season of some values, […, M] → what the next steps start from, […, steps]"""
        count = -(-len(self.weight) // self.season)
        again = recent.repeat(*[1] * (recent.dim() - 1), count)[..., : len(self.weight)]
        return self.weight * again.nan_to_num(0.0)


def seasons_before(values: Tensor, season: int, size: int) -> Tensor:
    """The last season before each patch of [B, N * P] but the first: [B, N - 1, M]"""
    missing = values.new_full((len(values), season), torch.nan)
    return torch.cat((missing, values), 1).unfold(1, season, size)[:, 1 : values.size(1) // size]


def shifted(parameters: Tensor, start: Tensor, head: Head) -> Tensor:
    """Parameters […, D] of values that are counted from a start […]."""
    if head == "quantiles":
        return parameters + start[..., None]
    return torch.cat((parameters[..., :1] + start[..., None], parameters[..., 1:]), -1)
