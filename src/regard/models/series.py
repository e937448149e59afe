"""The model of each kind of settings."""

from regard.configs.series import (
    SeriesConfig,
    SeriesLinearConfig,
    SeriesRecurrentConfig,
    SeriesSizes,
)
from regard.models.series_linear import SeriesLinear
from regard.models.series_recurrent import SeriesRecurrent
from regard.models.series_transformer import SeriesTransformer

SeriesModel = SeriesLinear | SeriesRecurrent | SeriesTransformer


def build_forecaster(config: SeriesConfig, sizes: SeriesSizes) -> SeriesModel:
    if isinstance(config, SeriesLinearConfig):
        return SeriesLinear(config, sizes)
    if isinstance(config, SeriesRecurrentConfig):
        return SeriesRecurrent(config, sizes)
    return SeriesTransformer(config, sizes)
