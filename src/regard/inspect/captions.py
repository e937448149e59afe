"""Where a captioner looks in an image when it writes each word, and which parts the word needs.

Shapes: N images, W words, T pieces, S cells of the image's grid.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import RequestError
from regard.inspect.images.hiding import (
    Grid,
    Pixels,
    agreement,
    check_patches,
    cut_grid,
    hidden_patches,
    mean_colour,
    with_hidden,
)
from regard.inspect.images.looked import Panel, cell_names, chosen_head, head_name
from regard.inspect.maps import Maps, Matrix, merge_words, recorded_maps

if TYPE_CHECKING:
    from rich.text import Text

    from regard.text.tokenizer import Tokenizer

# Maps that differ less than this between the words of a caption do not depend on the word.
SAME_MAPS = 0.03
WARNING = "The model looks at the same places for every word, so its attention explains no word."


class CaptionModel(Protocol):
    """A captioner, as `regard.load` gives it."""

    model: Any
    tokenizer: "Tokenizer"


@dataclass(frozen=True, repr=False)
class WordMaps:
    """What a captioner looks at in one image, word by word.

    Attributes
    ----------
    words : list of str
    weights : array of float
        [words, rows, columns]: the attention of each word over the cells of the image, each map
        summing to 1. Empty without attention.
    pixels : array of uint8
        [height, width, channels]: the image as the model sees it.
    probabilities : array of float
        [words], each given the words before it.
    hidden : array of float
        [words, rows, columns]: by how much the probability of each word falls when a patch is
        hidden. There may be more patches than cells.
    heads : list of array
        Of each layer, the attention of each head: [heads, words, rows, columns].
    """

    one_scale: ClassVar[bool] = True

    words: list[str]
    weights: NDArray[np.float64] = field(repr=False)
    pixels: Pixels = field(repr=False)
    probabilities: NDArray[np.float64]
    hidden: NDArray[np.float64] = field(repr=False)
    heads: list[NDArray[np.float64]] = field(default_factory=list, repr=False)

    def __repr__(self) -> str:
        rows, columns = self.hidden.shape[1:]
        return f"WordMaps({' '.join(self.words)}: {rows} × {columns} patches)"

    @property
    def difference(self) -> float:
        """How much the attention differs between words, from 0 to 1."""
        return difference(self.weights)

    @property
    def warning(self) -> str:
        """A sentence if the attention says nothing about single words, or `""`."""
        return warning_of(self.weights)

    @property
    def agreement(self) -> list[float]:
        """For each word, the rank correlation of its attention with what hiding patches does: 1 if
        it names the patches that matter in their order, 0 if it says nothing about them.
        """
        return [
            agreement(torch.from_numpy(own), torch.from_numpy(effect))
            for own, effect in zip(self.weights, self.hidden, strict=False)
        ]

    def shown(self, layer: int | None = None, head: int | None = None) -> NDArray[np.float64]:
        """The attention of a head, or the usual map; without attention, what hiding does."""
        if layer is not None and not self.heads:
            raise RequestError("this model has no attention: it looks at the image as a whole")
        found = chosen_head(self.heads, layer, head)
        if found is not None:
            return found
        return self.weights if len(self.weights) else self.hidden

    def answer(self) -> "Text":
        from rich.text import Text

        text = Text(" ".join(self.words) + "\n", style="bold")
        for word, share in zip(self.words, self.probabilities, strict=True):
            text.append(f"{share:6.1%}  {word}\n", style="not bold")
        return text

    def panels(self, layer: int | None, head: int | None) -> list[Panel]:
        name = "" if layer is None else f": {head_name(layer, head)}"
        return [
            (f"{word}{name}", each)
            for word, each in zip(self.words, self.shown(layer, head), strict=True)
        ]

    def remarks(self) -> list[str]:
        word, *place = np.unravel_index(int(self.hidden.argmax()), self.hidden.shape)
        where = "row {}, column {}".format(*(int(each) + 1 for each in place))
        fall = f"{-100 * self.hidden.max():+.1f} points"
        found = [f"Hiding the patch in {where} changes “{self.words[word]}” most: {fall}."]
        if len(self.weights):
            found.append(
                f"{np.mean(self.agreement):+.2f} is the mean rank correlation of a word's "
                "attention with what hiding each patch does to the word."
            )
        return [*found, *([f"warning: {self.warning}"] if self.warning else [])]

    def matrix(self, layer: int | None, head: int | None) -> Matrix:
        maps = self.shown(layer, head)
        names = cell_names(*maps.shape[1:])
        return Matrix(self.words, names, maps.reshape(len(maps), -1).tolist())

    def facts(self) -> dict[str, Any]:
        return {
            "caption": " ".join(self.words),
            "words": self.words,
            "probabilities": self.probabilities.tolist(),
            "weights": self.weights.tolist(),
            "hidden": self.hidden.tolist(),
            "agreement": self.agreement,
            "difference": self.difference,
        }

    def save(self, path: Path | str) -> None:
        """Draw for each word what it looks at, and what hiding each patch does to it, as .png, .svg
        or .pdf.
        """
        from regard.inspect.images.drawing import save_word_rows

        rows = {"looks at": self.weights} if len(self.weights) else {}
        notes = [
            f"{word} {share:.0%}"
            for word, share in zip(self.words, self.probabilities, strict=True)
        ]
        rows["patches hidden"] = self.hidden
        save_word_rows(self.pixels, notes, rows, Path(path))


def word_maps(
    captioner: CaptionModel, pixels: Pixels, ids: Sequence[int], without: Iterable[int] = ()
) -> WordMaps:
    """The maps of the caption `ids`, without END, of an image [S, S, C] as the model sees it. The
    patches `without`, counted row by row, are hidden.
    """
    if not ids:
        raise RequestError("there are no maps to draw: the caption is empty")
    seen = seen_image(captioner, pixels, without)
    maps = grid_attention(captioner.model, batch_of(seen[None]), ids, captioner.tokenizer)
    words = captioner.tokenizer.decode(ids).split(" ")
    heads = word_heads(maps, ids, captioner)
    return WordMaps(
        words=words,
        weights=usual_weights(maps, ids, captioner),
        pixels=seen,
        probabilities=word_probabilities(captioner, seen[None], ids)[0].numpy(),
        hidden=hidden_words(captioner, pixels, ids, without),
        heads=heads,
    )


def patches_of(captioner: CaptionModel, size: int) -> Grid:
    """The rows and columns of the patches that can be hidden."""
    return cut_grid(captioner.model.encoder.grid, size)


def seen_image(captioner: CaptionModel, pixels: Pixels, without: Iterable[int]) -> Pixels:
    """The image with patches hidden."""
    grid = patches_of(captioner, len(pixels))
    colour = mean_colour(captioner.model.encoder, pixels.shape[-1])
    return with_hidden(pixels, grid, check_patches(without, grid), colour)


def hidden_words(
    captioner: CaptionModel, pixels: Pixels, ids: Sequence[int], without: Iterable[int] = ()
) -> NDArray[np.float64]:
    """[W, rows, columns]: by how much the probability of each word falls when a patch is hidden,
    beside those that are hidden already.
    """
    grid = patches_of(captioner, len(pixels))
    falls = hidden_patches(
        pixels,
        grid,
        mean_colour(captioner.model.encoder, pixels.shape[-1]),
        lambda images: word_probabilities(captioner, images, ids),
        check_patches(without, grid),
    )
    return falls.movedim(-1, 0).numpy()


@torch.no_grad()
def word_probabilities(captioner: CaptionModel, images: Pixels, ids: Sequence[int]) -> Tensor:
    """[N, W]: the probability of each word of a caption in each image, given the words before."""
    pieces = [*captioner.tokenizer.word_of(ids), -1]
    logits = piece_logits(captioner, images, ids).float()
    labels = torch.tensor([*ids, captioner.tokenizer.specials.end], device=logits.device)
    own = logits.gather(-1, labels.expand(len(logits), -1)[..., None])[..., 0]
    chosen = (own - logits.logsumexp(-1)).double().cpu()
    words = torch.zeros(len(logits), max(pieces) + 1, dtype=torch.float64)
    for piece, word in enumerate(pieces):
        if word >= 0:
            words[:, word] += chosen[:, piece]
    return words.exp()


@torch.no_grad()
def piece_logits(captioner: CaptionModel, images: Pixels, ids: Sequence[int]) -> Tensor:
    """[N, T + 1, V]: what may stand at each place of a caption, and after it."""
    model = captioner.model
    device = next(model.parameters()).device
    target = torch.tensor([[captioner.tokenizer.specials.start, *ids]], device=device)
    logits: Tensor = model(batch_of(images).to(device), target.expand(len(images), -1))
    return logits


def batch_of(pixels: Pixels) -> Tensor:
    """[N, S, S, C] → [N, C, S, S]"""
    return torch.from_numpy(pixels).permute(0, 3, 1, 2)


@torch.no_grad()
def grid_attention(model: Any, images: Tensor, ids: Sequence[int], tokenizer: "Tokenizer") -> Maps:
    """The attention of a caption, without END, to the grid of one image [1, …]."""
    device = next(model.parameters()).device
    target = torch.tensor([[tokenizer.specials.start, *ids]], device=device)
    image = model.encode(images.to(device))
    return recorded_maps(
        model.decoder,
        lambda: model.decoder.features(image, target),
        image.grid.size(1),
        len(ids) + 1,
    )


def of_words(pieces: Tensor, ids: Sequence[int], tokenizer: "Tokenizer") -> NDArray[np.float64]:
    """[…, T + 1, S] → […, W, S]"""
    cells = range(pieces.size(-1))
    owners = [*tokenizer.word_of(ids), -1]
    return merge_words(pieces.double().cpu(), owners, cells).numpy()


def usual_weights(maps: Maps, ids: Sequence[int], captioner: CaptionModel) -> NDArray[np.float64]:
    """[W, rows, columns], or [0, rows, columns] without attention"""
    grid = captioner.model.encoder.grid
    if not len(maps.cross):
        return np.zeros((0, *grid))
    found = of_words(maps.alignment(), ids, captioner.tokenizer)
    return found.reshape(len(found), *grid)


def word_heads(
    maps: Maps, ids: Sequence[int], captioner: CaptionModel
) -> list[NDArray[np.float64]]:
    """Of each layer [h, W, rows, columns]"""
    grid = captioner.model.encoder.grid
    found = [
        of_words(layer[:count], ids, captioner.tokenizer)
        for layer, count in zip(maps.cross, maps.heads["cross"], strict=True)
    ]
    return [each.reshape(*each.shape[:2], *grid) for each in found]


def word_weights(
    model: Any, images: Tensor, ids: Sequence[int], tokenizer: "Tokenizer"
) -> NDArray[np.float64] | None:
    """[W, S] of the caption `ids`, without END, of one image [1, …]; None without attention."""
    maps = grid_attention(model, images, ids, tokenizer)
    if not len(maps.cross) or not ids:
        return None
    return of_words(maps.alignment(), ids, tokenizer)


def difference(weights: NDArray[np.float64]) -> float:
    """[W, …] → the share of a word's attention that is elsewhere than that of all words together,
    on average: 0 if all maps are the same, or if there are none.
    """
    if not len(weights):
        return 0.0
    return float(np.abs(weights - weights.mean(0)).sum() / len(weights) / 2)


def warning_of(weights: NDArray[np.float64]) -> str:
    """A sentence if the maps of words [W, …] do not depend on the word, or `""`."""
    return WARNING if len(weights) > 1 and difference(weights) < SAME_MAPS else ""
