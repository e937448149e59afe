"""Formulas for the arithmetic and the memory of models that forecast series.

docs/scale.md says what the formulas were checked against. C is the context, H the horizon, P the
steps of a patch, N the patches that a model reads, K known columns, d d_model.
"""

from typing import NamedTuple

from regard.configs.recurrent import GATES, KEPT
from regard.configs.series import (
    SeriesConfig,
    SeriesLinearConfig,
    SeriesRecurrentConfig,
    SeriesSizes,
    SeriesTransformerConfig,
)
from regard.configs.work import Part, Work

PatchConfig = SeriesRecurrentConfig | SeriesTransformerConfig
# Parameters of a value, and the numbers that its loss keeps for the backward pass.
HEADS = {"gaussian": 2, "student": 3, "quantiles": 15}
LOSS_KEEPS = {"gaussian": 7.4, "student": 15.4, "quantiles": 32.5}


# Numbers of a linear map that take as long as a layer of no work: nearly all of its time is spent
# on windows and on their loss.
LIKE_A_LAYER = 160_000
# Patches, norms and dropout of short rows take more time than products: it is as if layers were
# narrower by these factors. PyTorch computes an LSTM in one piece.
NARROWER = {"lstm": 2, "gru": 3, "rnn": 3}


class Patches(NamedTuple):
    """What passes through the layers of a model."""

    read: int  # patches
    predicted: int  # patches of which values are predicted
    values: int  # that are predicted and compared


def patches_of(config: PatchConfig, sizes: SeriesSizes) -> Patches:
    size = config.patch_size
    ahead = -(-sizes.horizon // size)
    if config.forecast == "direct":
        return Patches(sizes.context // size + ahead, ahead, sizes.horizon)
    read = -(-(sizes.context + sizes.horizon) // size) - 1
    return Patches(read, read, read * size)


def series_part(config: SeriesConfig, sizes: SeriesSizes, windows: float, mixed: bool) -> Part:
    """What a model costs for a number of windows. Data need no gradient, so that of the first
    product only its weight has one.
    """
    values, kept = HEADS[config.head], LOSS_KEEPS[config.head]
    if isinstance(config, SeriesLinearConfig):
        flops = 6.0 * sizes.context * sizes.horizon
        length = sizes.context + sizes.horizon
        numbers = sizes.context + sizes.known * length + kept * sizes.horizon
        width = min(sizes.context, sizes.horizon)
        depth = 1 + numbers * windows / LIKE_A_LAYER
        return Part(width, depth, flops * windows, 0.0, 4.0 * numbers * windows)
    d, size, found = config.d_model, config.patch_size, patches_of(config, sizes)
    inputs = size * (2 + sizes.known)
    flops = 4.0 * inputs * d * found.read + 6.0 * d * size * values * found.predicted
    each = 2 if mixed else 4
    num_bytes = each * inputs * found.read + 4 * kept * found.values
    if config.forecast == "direct":  # the linear map that it starts from
        flops += 4.0 * sizes.context * sizes.horizon
        num_bytes += each * sizes.context
    narrower = NARROWER["gru"]
    if isinstance(config, SeriesTransformerConfig):
        flops += config.stack_flops(0, Work(0, 0), found.read, found.read)
        num_bytes += config.stack_bytes(found.read, mixed)
    else:
        narrower = NARROWER[config.cell]
        flops += 12.0 * config.num_layers * GATES[config.cell] * d * d * found.read
        num_bytes += 4 * d * (config.num_layers * KEPT[config.cell][0] + 1.5) * found.read
    width = max(1, d // narrower)
    return Part(width, config.depth, flops * windows, 0.0, num_bytes * windows)
