"""Which parts of the past a forecast comes from, as plain numbers.

A Transformer has attention from the patches of the future to those of the past. Of every model, a
part of the past can be hidden: how far does the forecast move without it?
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.series import SeriesTable
from regard.data.series_windows import SeriesBatch, scaled
from regard.errors import RequestError
from regard.evaluate.pairs import device_of
from regard.inspect.maps import Matrix, recording
from regard.layers.distributions import DISTRIBUTIONS

if TYPE_CHECKING:
    from regard.tasks.forecast import Forecast
    from regard.tasks.forecaster import Forecaster

Floats = NDArray[np.float64]
# Parts of the past of a model that does not read in patches.
PARTS = 24


@dataclass(frozen=True)
class SeriesMaps:
    """Where the forecast of a series comes from.

    Attributes
    ----------
    name : str
        Of the series.
    forecast : Forecast
    parts : list of str
        Parts of the past, each named after its first time.
    steps : int
        Steps of a part.
    hidden : array of float, [parts]
        How far the median moves on average, in the units of the data, if a part is hidden.
    ahead : list of str
        Patches of the future, each named after its first time; none without attention.
    heads : array of float, [layers, heads, ahead, parts]
        Attention from each patch of the future to each part of the past.
    """

    name: str
    forecast: "Forecast"
    parts: list[str]
    steps: int
    hidden: Floats
    ahead: list[str]
    heads: Floats

    def attention(self, layer: int | None = None, head: int | None = None) -> Matrix:
        """Attention to the past, [ahead, parts]: of a head, or the mean of a layer or of all."""
        if not self.heads.size:
            raise RequestError(
                f"{self.name}: this model has no attention to look at; what hiding each part of "
                "the past does is shown instead"
            )
        layers, heads = self.heads.shape[:2]
        if layer is not None and layer >= layers:
            raise RequestError(f"--layer {layer}: there are {layers}, counted from 0")
        if head is not None and head >= heads:
            raise RequestError(f"--head {head}: there are {heads}, counted from 0")
        chosen = self.heads if layer is None else self.heads[layer : layer + 1]
        chosen = chosen if head is None else chosen[:, head : head + 1]
        return Matrix(self.ahead, self.parts, chosen.mean((0, 1)).tolist())


def series_maps(forecaster: "Forecaster", table: SeriesTable) -> SeriesMaps:
    """Look at the forecast of the one series of a table."""
    model, data = forecaster.model, forecaster.data
    found = forecaster.forecast(table)
    assert not isinstance(found, list)
    values, known = forecaster.windows(table)
    batch, scale = scaled(values, known, data.context, model.config.scaling)
    batch = batch.to(device_of(model))
    size = patch_of(model, data.context)
    parts = data.context // size
    moved = hiding(model, batch, size) * scale.width[0]
    times = padded(found.past_times, data.context)
    ahead, heads = [], np.zeros((0, 0, 0, parts))
    if hasattr(model, "encoder"):
        heads = attention_of(model, batch, parts)
        ahead = found.times[::size][: heads.shape[2]]
    return SeriesMaps(found.name, found, times[::size], size, moved, ahead, heads)


def patch_of(model: Any, context: int) -> int:
    """Steps that are hidden at a time: a patch of the model, or a part of the past."""
    size = getattr(model.config, "patch_size", 0)
    if size > 1:
        return int(size)
    return next(
        each for each in range(max(1, context // PARTS), context + 1) if context % each == 0
    )


def padded(times: Sequence[str], context: int) -> list[str]:
    """The times of a context, of which the first may be before the series begins."""
    return [""] * (context - len(times)) + list(times)


@torch.inference_mode()
def centre(model: Any, batch: SeriesBatch) -> Tensor:
    """What the model expects at each step, scaled, [B, H]; of paths, in the first patch."""
    head = DISTRIBUTIONS[model.config.head]
    if getattr(model.config, "forecast", "direct") == "direct":
        return head.quantiles(model(batch.past, batch.known).float(), (0.5,))[..., 0]
    state = model.start(batch.past, batch.known)
    parameters, _ = model.step(batch.past[:, -model.config.patch_size :], state)
    return head.quantiles(parameters.float(), (0.5,))[..., 0]


def hiding(model: Any, batch: SeriesBatch, size: int) -> Floats:
    """How far the forecast of one window moves if each part of its past is missing, [parts]."""
    parts = batch.past.size(1) // size
    past = batch.past.repeat(parts, 1)
    for part in range(parts):
        past[part, part * size : (part + 1) * size] = torch.nan
    many = SeriesBatch(past, batch.future.repeat(parts, 1), batch.known.repeat(parts, 1, 1))
    moved = (centre(model, many) - centre(model, batch)).abs().mean(1)
    return moved.double().cpu().numpy()


@torch.inference_mode()
def attention_of(model: Any, batch: SeriesBatch, parts: int) -> Floats:
    """Attention from patches of the future to patches of the past: [layers, heads, ahead, parts]. A
    model of paths predicts the first patch of the future from the last one of the past.
    """
    with recording(model) as found:
        if model.config.forecast == "direct":
            model(batch.past, batch.known)
            rows = slice(parts, None)
        else:
            model.predicted(batch)
            rows = slice(parts - 1, parts)
        weights = [record[0][0, :, rows, :parts] for record in found.values()]
    return torch.stack(weights).double().cpu().numpy()
