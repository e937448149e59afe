"""Where a captioner looks in an image when it writes each word.

Shapes: W words, T pieces, S cells of the image's grid.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.inspect.drawing import literal, save_figure
from regard.inspect.maps import merge_words, recorded_maps

if TYPE_CHECKING:
    from regard.text.tokenizer import Tokenizer

# Small images in a row of the picture.
COLUMNS = 6
# Maps that differ less than this between the words of a caption do not depend on the word.
SAME_MAPS = 0.03


@dataclass(frozen=True, repr=False)
class WordMaps:
    """The attention of each word of a caption over an image.

    Attributes
    ----------
    words : list of str
    weights : array of float
        [words, rows, columns], each map summing to 1.
    pixels : array of uint8
        [height, width, channels]: the image as the model sees it.
    """

    words: list[str]
    weights: NDArray[np.float64] = field(repr=False)
    pixels: NDArray[np.uint8] = field(repr=False)

    def __repr__(self) -> str:
        rows, columns = self.weights.shape[1:]
        return f"WordMaps({' '.join(self.words)}: {rows} × {columns} cells)"

    @property
    def difference(self) -> float:
        """How much the maps differ between words, from 0 to 1."""
        return difference(self.weights.reshape(len(self.words), -1))

    def save(self, path: Path | str) -> None:
        """Draw a small image for each word, dark where it is not looked at, as .png, .svg or
        .pdf.
        """
        save_words(self, Path(path))


@torch.no_grad()
def word_weights(
    model: Any, images: Tensor, ids: Sequence[int], tokenizer: "Tokenizer"
) -> NDArray[np.float64] | None:
    """[W, S] of the caption `ids`, without END, of one image [1, …]; None without attention."""
    device = next(model.parameters()).device
    specials = tokenizer.specials
    target = torch.tensor([[specials.start, *ids]], device=device)
    image = model.encode(images.to(device))
    cells = image.grid.size(1)
    maps = recorded_maps(
        model.decoder, lambda: model.decoder.features(image, target), cells, len(ids) + 1
    )
    if not len(maps.cross) or not ids:
        return None
    pieces = maps.alignment().double().cpu()
    merged = merge_words(pieces, [*tokenizer.word_of(ids), -1], range(cells))
    return merged.numpy()


def difference(weights: NDArray[np.float64]) -> float:
    """[W, S] → the share of a word's attention that is elsewhere than that of all words together,
    on average: 0 if all maps are the same.
    """
    return float(np.abs(weights - weights.mean(0)).sum(1).mean() / 2)


def save_words(maps: WordMaps, path: Path) -> None:
    from matplotlib.figure import Figure

    count = len(maps.words) + 1
    columns = min(COLUMNS, count)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(1.7 * columns, 1.95 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    pixels = maps.pixels.astype(float) / 255
    if pixels.shape[-1] == 1:
        pixels = np.repeat(pixels, 3, -1)
    for place in axes:
        place.axis("off")
    axes[0].imshow(pixels)
    for place, word, weights in zip(axes[1:], maps.words, maps.weights, strict=False):
        place.imshow(lit(pixels, weights))
        place.set_title(literal(word), fontsize=10)
    save_figure(figure, path)


def lit(pixels: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The image [H, W, 3], bright where the weights [rows, columns] are large."""
    size = pixels.shape[:2]
    light = torch.nn.functional.interpolate(
        torch.from_numpy(weights / max(weights.max(), 1e-12))[None, None],
        size,
        mode="bilinear",
        align_corners=False,
    )[0, 0]
    bright = light.numpy()[..., None]
    # What is not looked at is grey and dark.
    grey = pixels.mean(-1, keepdims=True).repeat(3, -1)
    return np.clip(0.25 * grey * (1 - bright) + pixels * bright, 0, 1)  # type: ignore[no-any-return]
