"""Recurrent layers that read a series patch by patch, and forecast what follows.

Shapes: B windows, C steps of context, H of horizon, P steps of a patch, N patches, K known columns,
M steps of a season, D parameters of a value, R rows of paths, d d_model.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.configs.series import SeriesRecurrentConfig, SeriesSizes
from regard.data.series_windows import SeriesBatch
from regard.layers.distributions import DISTRIBUTIONS
from regard.layers.dropout import Dropout
from regard.layers.recurrent import LayerState, RecurrentStack
from regard.layers.series import (
    Known,
    LastSeason,
    LinearStart,
    PatchEmbedding,
    patches,
    seasons_before,
    shifted,
)
from regard.models.recurrent import full_precision


@dataclass(frozen=True)
class SeriesRecurrentState:
    """What one step passes to the next, and what is known of the patches that are to come."""

    layers: list[LayerState]
    known: Tensor  # [R, N, P, K]
    recent: Tensor  # [R, M], the last season

    def select(self, rows: Tensor) -> "SeriesRecurrentState":
        layers = [tuple(part.index_select(0, rows) for part in layer) for layer in self.layers]
        known, recent = self.known.index_select(0, rows), self.recent.index_select(0, rows)
        return SeriesRecurrentState(layers, known, recent)


class SeriesRecurrent(nn.Module):
    def __init__(self, config: SeriesRecurrentConfig, sizes: SeriesSizes) -> None:
        super().__init__()
        self.config = config
        self.sizes = sizes
        d_model, size = config.d_model, config.patch_size
        self.known = Known(sizes.known)
        self.embedding = PatchEmbedding(size, sizes.known, d_model)
        self.dropout = Dropout(config.dropout)
        self.stack = RecurrentStack(
            config.cell, d_model, d_model, config.num_layers, config.dropout, config.nonlinearity
        )
        if config.forecast == "direct":
            # How far ahead each patch of the future is.
            self.ahead = nn.Parameter(torch.empty(-(-sizes.horizon // size), d_model))
            nn.init.normal_(self.ahead, std=0.02)
        self.output = nn.Linear(d_model, size * DISTRIBUTIONS[config.head].size)
        nn.init.zeros_(self.output.bias)
        if config.forecast == "direct":
            self.linear = LinearStart(sizes.context, sizes.horizon, sizes.season)
            nn.init.zeros_(self.output.weight)
        else:
            self.last_season = LastSeason(sizes.season, size)
            nn.init.normal_(self.output.weight, std=0.02)

    def initialise(self, sample: SeriesBatch, windows: Iterable[SeriesBatch]) -> None:
        """Prepare a new model for training on windows like these."""
        self.known.initialise(sample.known.flatten(0, 1))
        if self.config.forecast == "direct":
            self.linear.fit((each.past, each.future) for each in windows)

    def predicted(self, batch: SeriesBatch) -> tuple[Tensor, Tensor]:
        """What training compares: the parameters of values, and these values. A model of paths
        learns from the past as well: it predicts each patch but the first.
        """
        if self.config.forecast == "direct":
            return self(batch.past, batch.known), batch.future
        size = self.config.patch_size
        values = patches(torch.cat((batch.past, batch.future), 1), size)
        known = self.known(patches(batch.known, size))
        start = self.last_season(seasons_before(values.flatten(1), self.sizes.season, size))
        with full_precision(values.device):
            # A patch is predicted from those before it, and from what is known of itself.
            x, _ = self.stack(self.dropout(self.embedding(values[:, :-1], known[:, 1:])))
            found = shifted(self.parameters_of(x), start.flatten(1), self.config.head)
            return found, values[:, 1:].flatten(1)

    def forward(self, past: Tensor, known: Tensor) -> Tensor:
        """[B, C] with NaN where a value is missing, [B, C + H, K] → [B, H, D]"""
        size, horizon = self.config.patch_size, self.sizes.horizon
        hidden = past.new_full((len(past), horizon), torch.nan)
        values = patches(torch.cat((past, hidden), 1), size)
        with full_precision(past.device):
            x = self.embedding(values, self.known(patches(known, size)))
            ahead = len(self.ahead)
            x = torch.cat((x[:, :-ahead], x[:, -ahead:] + self.ahead), 1)
            x, _ = self.stack(self.dropout(x))
            found = self.parameters_of(x[:, -ahead:])[:, :horizon]
            return shifted(found, self.linear(past), self.config.head)

    def parameters_of(self, x: Tensor) -> Tensor:
        """[B, N, d] → [B, N * P, D]"""
        found: Tensor = self.output(self.dropout(x))
        apart: Tensor = found.unflatten(-1, (self.config.patch_size, -1))
        return apart.flatten(1, 2)

    @torch.no_grad()
    def start(self, past: Tensor, known: Tensor) -> SeriesRecurrentState:
        """The state before the last patch of the past [B, C] is read."""
        values = patches(past, self.config.patch_size)
        coming = self.known(patches(known, self.config.patch_size))
        before = values.size(1) - 1
        if not before:
            layers = [layer.zeros(past) for layer in self.stack.layers]
        else:
            layers = self.stack(self.embedding(values[:, :-1], coming[:, 1 : before + 1]))[1]
        nothing = past.new_full((len(past), self.sizes.season), torch.nan)
        read = past[:, : before * self.config.patch_size]
        recent = torch.cat((nothing, read), 1)[:, -self.sizes.season :]
        return SeriesRecurrentState(layers, coming[:, before + 1 :], recent)

    @torch.no_grad()
    def step(
        self, values: Tensor, state: SeriesRecurrentState
    ) -> tuple[Tensor, SeriesRecurrentState]:
        """(y, s') = f(x, s): a patch [R, P] → the parameters of the next one, [R, P, D]."""
        x = self.embedding(values[:, None], state.known[:, :1])[:, 0]
        x, layers = self.stack.step(self.dropout(x), state.layers)
        recent = torch.cat((state.recent, values), 1)[:, -self.sizes.season :]
        found = shifted(self.parameters_of(x[:, None]), self.last_season(recent), self.config.head)
        return found, SeriesRecurrentState(layers, state.known[:, 1:], recent)
