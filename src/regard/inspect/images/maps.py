"""All that is to be seen of how a classifier came to a label for one image."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import RequestError, shown
from regard.inspect.images.attention import has_attention, patch_attention
from regard.inspect.images.grad_cam import grad_cam
from regard.inspect.images.hiding import (
    Pixels,
    agreement,
    check_patches,
    hidden_patches,
    hiding_grid,
    mean_colour,
    with_hidden,
)
from regard.inspect.images.looked import Panel, chosen_head, head_name
from regard.inspect.images.positions import position_similarity
from regard.inspect.maps import Matrix

if TYPE_CHECKING:
    from rich.text import Text

# Labels that a terminal shows.
MOST_LABELS = 5
Map = NDArray[np.float32]


class ImageModel(Protocol):
    """A classifier of images, as `regard.load` gives it."""

    model: Any
    labels: list[str]

    def probabilities(self, pixels: Pixels) -> Tensor: ...


@dataclass(frozen=True, eq=False)
class ImageMaps:
    """What a classifier looks at in one image.

    Attributes
    ----------
    pixels : array
        The image as the model sees it, [size, size, channels].
    label : str
        The label that `maps` and `hidden` are about.
    probabilities : dict
        The probability of each label, the likeliest first.
    maps : dict
        Maps over the image by name, [rows, columns]. A Vision Transformer has `"rollout"`, which
        is the same for all labels, and `"gradient × attention"`; a CNN has `"Grad-CAM"`.
    heads : list of array
        Of each layer, where each head looks: [heads, rows, columns]. Empty without attention.
    hidden : array
        By how much the label's probability falls when a patch is hidden, [rows, columns].
    agreement : dict
        For each of `maps`, its rank correlation with `hidden`: 1 if it names the patches that
        matter in their order, 0 if it says nothing about them.
    positions : array or None
        How alike the positions of two patches are, [rows, columns, rows, columns].
    """

    one_scale: ClassVar[bool] = False

    pixels: Pixels = field(repr=False)
    label: str
    probabilities: dict[str, float]
    maps: dict[str, Map] = field(repr=False)
    heads: list[Map] = field(repr=False)
    hidden: Map = field(repr=False)
    agreement: dict[str, float]
    positions: Map | None = field(default=None, repr=False)

    @property
    def probability(self) -> float:
        return self.probabilities[self.label]

    def head(self, layer: int, head: int | None = None) -> Map:
        """The map of a head, or of the mean of a layer's heads, both counted from 0."""
        if not self.heads:
            raise RequestError("this model has no attention heads; its map is Grad-CAM")
        found = chosen_head(self.heads, layer, head)
        assert found is not None  # a layer was given
        return found

    def shown(self, layer: int | None, head: int | None) -> Map:
        """The map of a head, or the one that is about the label."""
        if layer is not None:
            return self.head(layer, head)
        return list(self.maps.values())[-1] if self.maps else self.hidden

    def answer(self) -> "Text":
        from rich.text import Text

        text = Text()
        for label, share in list(self.probabilities.items())[:MOST_LABELS]:
            text.append(f"{share:6.1%}  {label}\n", style="bold" if label == self.label else "")
        return text

    def panels(self, layer: int | None, head: int | None) -> list[Panel]:
        if layer is not None:
            return [(head_name(layer, head), self.head(layer, head))]
        return [*self.maps.items(), ("patches hidden", self.hidden)]

    def remarks(self) -> list[str]:
        patch = int(self.hidden.argmax())
        row, column = divmod(patch, self.hidden.shape[1])
        fall = 100 * float(self.hidden.flat[patch])
        lines = [
            f"Hiding the patch in row {row + 1}, column {column + 1} changes the probability of "
            f"{self.label} most: {-fall:+.1f} points."
            if fall > 0
            else f"No single patch makes {self.label} less likely when it is hidden."
        ]
        return lines + [
            f"{name}: {value:+.2f} is its rank correlation with what hiding each patch does."
            for name, value in self.agreement.items()
        ]

    def matrix(self, layer: int | None, head: int | None) -> Matrix:
        shown = self.shown(layer, head)
        rows, columns = (list(map(str, range(1, each + 1))) for each in shown.shape)
        return Matrix(rows, columns, shown.tolist())

    def facts(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "probabilities": self.probabilities,
            "maps": {name: each.tolist() for name, each in self.maps.items()},
            "heads": [layer.tolist() for layer in self.heads],
            "hidden": self.hidden.tolist(),
            "agreement": self.agreement,
        }

    def save(self, path: Path | str) -> None:
        """Draw the image with its maps, the hidden patches and the heads of the last layers, as
        .png, .svg or .pdf.
        """
        from regard.inspect.images.drawing import save_maps

        save_maps(self, Path(path))


def image_maps(
    classifier: ImageModel, pixels: Pixels, label: str | None = None, without: Iterable[int] = ()
) -> ImageMaps:
    """Everything about an image [S, S, C] as the model sees it; without a label, about the
    likeliest one. The patches `without`, counted row by row, are hidden.
    """
    model = classifier.model
    encoder = model.encoder
    looks = has_attention(model)
    grid = hiding_grid(encoder, looks, len(pixels))
    without = check_patches(without, grid)
    colour = mean_colour(encoder, pixels.shape[-1])
    seen = with_hidden(pixels, grid, without, colour)
    probabilities = classifier.probabilities(seen[None])[0]
    number = number_of(classifier.labels, label, probabilities)
    order = probabilities.argsort(descending=True, stable=True).tolist()
    maps, heads = model_maps(model, seen, number)
    hidden = hidden_patches(
        pixels, grid, colour, lambda images: classifier.probabilities(images)[:, number], without
    )
    positions = position_similarity(encoder)
    return ImageMaps(
        pixels=seen,
        label=classifier.labels[number],
        probabilities={classifier.labels[i]: float(probabilities[i]) for i in order},
        maps={name: plain(each) for name, each in maps.items()},
        heads=[plain(each) for each in heads],
        hidden=plain(hidden),
        agreement={name: agreement(each, hidden) for name, each in maps.items()},
        positions=None if positions is None else plain(positions),
    )


def number_of(labels: Sequence[str], label: str | None, probabilities: Tensor) -> int:
    if label is None:
        return int(probabilities.argmax())
    if label in labels:
        return labels.index(label)
    known = ", ".join(labels[:8]) + ", …" * (len(labels) > 8)
    raise RequestError(f"label {shown(label)}: the model has no such label; it knows {known}")


def model_maps(model: Any, pixels: Pixels, label: int) -> tuple[dict[str, Tensor], list[Tensor]]:
    """The maps of the whole model by name, and those of its heads layer by layer."""
    device = next(model.parameters()).device
    # Gradients reach even a frozen encoder if they are asked of the image.
    image = torch.from_numpy(pixels).permute(2, 0, 1)[None].to(device, torch.float32)
    image = image.to(next(model.parameters()).dtype).requires_grad_()

    def logit() -> Tensor:
        return model(image)[0, label]  # type: ignore[no-any-return]

    if has_attention(model):
        found = patch_attention(model, logit, model.encoder.grid)
        return {"rollout": found.rollout(), "gradient × attention": found.gradient()}, found.heads()
    cam = grad_cam(model.encoder, logit)
    return ({} if cam is None else {"Grad-CAM": cam}), []


def plain(values: Tensor) -> Map:
    return values.detach().float().cpu().numpy()
