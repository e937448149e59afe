"""A Transformer that reads a series as a sequence of patches (Nie et al. 2023).

A direct forecast is encoder-only: the patches of the future are in the sequence, with their values
hidden and what is known of them. A forecast of paths is causal: each patch predicts the next.

Shapes: B windows, C steps of context, H of horizon, P steps of a patch, N patches, K known columns,
M steps of a season, D parameters of a value, R rows of paths, d d_model.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.configs.series import SeriesSizes, SeriesTransformerConfig
from regard.data.series_windows import SeriesBatch
from regard.layers.distributions import DISTRIBUTIONS
from regard.layers.dropout import Dropout
from regard.layers.key_value_cache import KeyValueCache
from regard.layers.positions import Learned
from regard.layers.precision import lowered
from regard.layers.series import (
    Known,
    LastSeason,
    LinearStart,
    PatchEmbedding,
    patches,
    seasons_before,
    shifted,
)
from regard.layers.transformer import EncoderBlock
from regard.models.stack import stack_sizes


@dataclass(frozen=True)
class SeriesTransformerState:
    """What has been read, and what is known of the patches that are to come."""

    cache: KeyValueCache
    known: Tensor  # [R, N, P, K]
    recent: Tensor  # [R, M], the last season

    def select(self, rows: Tensor) -> "SeriesTransformerState":
        known, recent = self.known.index_select(0, rows), self.recent.index_select(0, rows)
        return SeriesTransformerState(self.cache.select(rows), known, recent)


class SeriesTransformer(nn.Module):
    def __init__(self, config: SeriesTransformerConfig, sizes: SeriesSizes) -> None:
        super().__init__()
        self.config = config
        self.sizes = sizes
        d_model, size = config.d_model, config.patch_size
        self.past_patches = sizes.context // size
        self.known = Known(sizes.known)
        self.embedding = PatchEmbedding(size, sizes.known, d_model)
        self.positions = Learned(self.past_patches + -(-sizes.horizon // size), d_model)
        self.dropout = Dropout(config.dropout)
        block = stack_sizes(config, "pre")
        self.encoder: Sequence[EncoderBlock] = nn.ModuleList(  # type: ignore[assignment]
            EncoderBlock(block) for _ in range(config.num_layers)
        )
        self.norm = block.normaliser()
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
        # A patch is predicted from those before it, and from what is known of itself.
        x = self.encoded(values[:, :-1], known[:, 1:], causal=True)
        found = shifted(self.parameters_of(x), start.flatten(1), self.config.head)
        return found, values[:, 1:].flatten(1)

    def forward(self, past: Tensor, known: Tensor) -> Tensor:
        """[B, C] with NaN where a value is missing, [B, C + H, K] → [B, H, D]"""
        size, horizon = self.config.patch_size, self.sizes.horizon
        hidden = past.new_full((len(past), horizon), torch.nan)
        values = patches(torch.cat((past, hidden), 1), size)
        x = self.encoded(values, self.known(patches(known, size)), causal=False)
        found = self.parameters_of(x[:, self.past_patches :])[:, :horizon]
        return shifted(found, self.linear(past), self.config.head)

    def encoded(self, values: Tensor, known: Tensor, causal: bool) -> Tensor:
        """[B, N, P] and [B, N, P, K] → [B, N, d]"""
        x = self.embedding(values, known)
        x = self.dropout(lowered(x + self.positions(0, x.size(1), x)))
        for block in self.encoder:
            x = block(x, causal=causal)
        return self.norm(x)  # type: ignore[no-any-return]

    def parameters_of(self, x: Tensor) -> Tensor:
        """[B, N, d] → [B, N * P, D]"""
        found: Tensor = self.output(self.dropout(x.to(self.output.weight.dtype)))
        apart: Tensor = found.unflatten(-1, (self.config.patch_size, -1))
        return apart.flatten(1, 2)

    def start(self, past: Tensor, known: Tensor) -> SeriesTransformerState:
        """The state before the last patch of the past [B, C] is read."""
        heads = self.config.num_heads
        d_k = self.config.d_model // heads
        cache = KeyValueCache.empty(
            len(self.encoder), len(past), heads, d_k, like=self.output.weight.detach()
        )
        coming = self.known(patches(known, self.config.patch_size))[:, 1:]
        nothing = past.new_full((len(past), self.sizes.season), torch.nan)
        state = SeriesTransformerState(cache, coming, nothing)
        for values in patches(past, self.config.patch_size)[:, :-1].unbind(1):
            _, state = self.step(values, state)
        return state

    @torch.no_grad()
    def step(
        self, values: Tensor, state: SeriesTransformerState
    ) -> tuple[Tensor, SeriesTransformerState]:
        """(y, s') = f(x, s): a patch [R, P] → the parameters of the next one, [R, P, D]."""
        x = self.embedding(values[:, None], state.known[:, :1])[:, 0]
        x = self.dropout(x + self.positions(state.cache.position, 1, x))
        cache = state.cache.extended()
        for block, (entries, new) in zip(self.encoder, cache.layers(), strict=True):
            x = block.step(x, entries, new)
        recent = torch.cat((state.recent, values), 1)[:, -self.sizes.season :]
        found = self.parameters_of(self.norm(x)[:, None])
        found = shifted(found, self.last_season(recent), self.config.head)
        return found, SeriesTransformerState(cache, state.known[:, 1:], recent)
