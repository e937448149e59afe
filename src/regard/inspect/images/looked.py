"""What every look into an image can be asked, whatever the model is for."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from numpy.typing import NDArray

from regard.errors import RequestError
from regard.inspect.images.hiding import Pixels

if TYPE_CHECKING:
    from rich.text import Text

    from regard.inspect.maps import Matrix

# A map over the image with its name.
Panel = tuple[str, NDArray[Any]]


class Looked(Protocol):
    """What a model looks at in one image. A layer and a head choose a map of attention; without
    them it is the usual one.
    """

    # Whether the colours of all panels have one scale.
    one_scale: ClassVar[bool]

    @property
    def pixels(self) -> Pixels: ...

    def answer(self) -> "Text":
        """What the model says of the image, for the terminal."""

    def panels(self, layer: int | None, head: int | None) -> list[Panel]:
        """The maps to show beside the image."""

    def remarks(self) -> list[str]:
        """What the maps show, in sentences."""

    def matrix(self, layer: int | None, head: int | None) -> "Matrix":
        """The numbers of the main map as a table."""

    def facts(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""

    def save(self, path: Path | str) -> None:
        """Draw it as .png, .svg or .pdf."""


def chosen_head(
    heads: Sequence[NDArray[Any]], layer: int | None, head: int | None
) -> NDArray[Any] | None:
    """The map of a head, or of the mean of a layer's heads, both counted from 0; None if no layer
    is chosen. `heads` has [heads, …] of each layer.
    """
    if layer is None:
        return None
    if not 0 <= layer < len(heads):
        raise RequestError(f"layer {layer}: the model has layers 0 to {len(heads) - 1}")
    own = heads[layer]
    if head is not None and not 0 <= head < len(own):
        raise RequestError(f"head {head}: layer {layer} has heads 0 to {len(own) - 1}")
    found: NDArray[Any] = own.mean(0) if head is None else own[head]
    return found


def head_name(layer: int, head: int | None) -> str:
    return f"layer {layer}" + ("" if head is None else f", head {head}")


def cell_names(rows: int, columns: int) -> list[str]:
    """The names of places, row by row."""
    return [f"row {row + 1}, column {col + 1}" for row in range(rows) for col in range(columns)]
