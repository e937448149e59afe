"""The encodings by which a Transformer knows the positions of tokens."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from torch import nn

from regard.errors import RequestError
from regard.layers.positions import Learned

if TYPE_CHECKING:
    from regard.models import Model


@dataclass(frozen=True)
class PositionTable:
    """n positions, d dimensions. For rotary positions, the table has cosine and sine of each pair's
    angle side by side. A dot product is then what the rotations make of two equal vectors; it
    depends only on the distance.
    """

    kind: Literal["sinusoidal", "learned", "rotary"]
    table: list[list[float]]  # [n, d]
    dots: list[list[float]]  # [n, n], the dot products of positions


@torch.no_grad()
def position_table(model: "Model", length: int) -> PositionTable:
    # A labeller has them in the encoder that reads for it.
    model = getattr(model, "reader", model)
    learned = "learned" if isinstance(getattr(model, "positions", None), Learned) else None
    kind: Any = getattr(getattr(model, "config", None), "positions", learned)
    if kind is None:
        raise RequestError("this model counts no positions: it reads one token after the other")
    if length > model.longest:
        raise RequestError(f"length {length}: this model has {model.longest} positions")
    like = next(model.parameters())
    encoding = cast("nn.Module", model.rotary if kind == "rotary" else model.positions)
    table = encoding(0, length, like).flatten(1).double()
    return PositionTable(kind, table.tolist(), (table @ table.T).tolist())
