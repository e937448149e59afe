"""Which parts of an image and which words make a text fit the image, and which pairs are confused.

Shapes: I images, T texts, W words, P patches, S cells of the image's grid, w width of the shared
space.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.matching_pairs import batch_texts
from regard.errors import RequestError
from regard.inspect.images.hiding import (
    Grid,
    Pixels,
    agreement,
    check_patches,
    cut_grid,
    hidden_patches,
    mean_colour,
    over_patches,
    with_hidden,
)
from regard.inspect.images.looked import Panel, cell_names
from regard.inspect.maps import Matrix

if TYPE_CHECKING:
    from rich.text import Text

    from regard.text.tokenizer import Tokenizer


class PairModel(Protocol):
    """A matcher, as `regard.load` gives it."""

    model: Any
    tokenizer: "Tokenizer"

    def pieces_of(self, texts: Sequence[str]) -> list[list[int]]: ...

    def vectors_of(self, pixels: Pixels) -> NDArray[np.float32]: ...

    def vectors_of_pieces(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]: ...


@dataclass(frozen=True, repr=False)
class PairMaps:
    """What makes a text fit an image, by its words and by patches of the image.

    Attributes
    ----------
    words : list of str
    similarity : float
        Of the image and the text, from -1 to 1.
    pixels : array of uint8
        [height, width, channels]: the image as the model sees it.
    without_word : array of float
        [words]: by how much the similarity falls when a word is left out.
    hidden : array of float
        [rows, columns]: by how much it falls when a patch is hidden.
    together : array of float
        [words, rows, columns]: how much of that fall is gone when the word is left out as well. So
        it is large where the patch and the word need each other.
    parts : array of float
        [words, rows, columns]: the share of each cell and word in the similarity; with `rest` they
        add up to it. Empty where the vectors of image and text are no sums over cells and words.
    rest : array of float
        [rows, columns]: the share of each cell and the marks of start and end.
    """

    one_scale: ClassVar[bool] = True

    words: list[str]
    similarity: float
    pixels: Pixels = field(repr=False)
    without_word: NDArray[np.float64] = field(repr=False)
    hidden: NDArray[np.float64] = field(repr=False)
    together: NDArray[np.float64] = field(repr=False)
    parts: NDArray[np.float64] = field(repr=False)
    rest: NDArray[np.float64] = field(repr=False)

    def __repr__(self) -> str:
        return f"PairMaps({' '.join(self.words)}: {self.similarity:.3f})"

    @property
    def agreement(self) -> float | None:
        """The rank correlation of the shares of cells, over all words, with what hiding patches
        does; None where there are no shares.
        """
        if not len(self.parts):
            return None
        whole = torch.from_numpy(self.parts.sum(0) + self.rest)
        return agreement(whole, torch.from_numpy(self.hidden))

    def shown(self) -> NDArray[np.float64]:
        """[words, rows, columns]: shares where there are some, else what hiding does."""
        return self.parts if len(self.parts) else self.together

    def contrast(self) -> NDArray[np.float64]:
        """The same, but shares as they are drawn: above or below that of the mean cell. All cells
        have much in common, which says nothing about the place.
        """
        return centred(self.parts) if len(self.parts) else self.together

    def answer(self) -> "Text":
        from rich.text import Text

        text = Text(f"{self.similarity:.3f}  {' '.join(self.words)}\n", style="bold")
        for word, fall in zip(self.words, self.without_word, strict=True):
            text.append(f"{-fall:+.3f}  without “{word}”\n", style="not bold")
        return text

    def panels(self, layer: int | None, head: int | None) -> list[Panel]:
        self._no_heads(layer)
        return list(zip(self.words, self.contrast(), strict=True))

    def remarks(self) -> list[str]:
        kind = (
            "its share of the similarity, against that of the mean patch"
            if len(self.parts)
            else "how much it and the word need each other"
        )
        row, column = divmod(int(self.hidden.argmax()), self.hidden.shape[1])
        place = f"row {row + 1}, column {column + 1}"
        fall = f"{-self.hidden.max():+.3f}"
        found = [
            f"Under each word: for each patch, {kind}.",
            f"Hiding the patch in {place} changes the similarity most: {fall}.",
        ]
        if self.agreement is not None:
            found.append(
                f"{self.agreement:+.2f} is the rank correlation of the shares of patches with what "
                "hiding each patch does."
            )
        return found

    def matrix(self, layer: int | None, head: int | None) -> Matrix:
        self._no_heads(layer)
        maps = self.shown()
        names = cell_names(*maps.shape[1:])
        return Matrix(self.words, names, maps.reshape(len(maps), -1).tolist())

    def facts(self) -> dict[str, Any]:
        return {
            "text": " ".join(self.words),
            "similarity": self.similarity,
            "words": self.words,
            "without_word": self.without_word.tolist(),
            "hidden": self.hidden.tolist(),
            "together": self.together.tolist(),
            "parts": self.parts.tolist(),
            "rest": self.rest.tolist(),
            "agreement": self.agreement,
        }

    def save(self, path: Path | str) -> None:
        """Draw the maps of each word and of the whole text, as .png, .svg or .pdf."""
        from regard.inspect.images.drawing import save_word_rows

        def with_whole(words: NDArray[np.float64], whole: NDArray[np.float64]) -> Any:
            return np.concatenate((whole[None], words))

        rows = {}
        if len(self.parts):
            whole = self.parts.sum(0) + self.rest
            rows["shares"] = centred(with_whole(self.parts, whole))
        rows["patches hidden"] = with_whole(self.together, self.hidden)
        notes = ["all words"] + [
            f"{word} {signed(-fall)}"
            for word, fall in zip(self.words, self.without_word, strict=True)
        ]
        title = (
            f"{' '.join(self.words)}: similarity {self.similarity:.3f}; beside a word: without it"
        )
        save_word_rows(self.pixels, notes, rows, Path(path), title, alone=1)

    def _no_heads(self, layer: int | None) -> None:
        if layer is not None:
            raise RequestError(f"--layer {layer}: a matcher has no maps of heads; leave it out")


def signed(value: float) -> str:
    """With two digits; 0 has a plus."""
    return f"{round(float(value), 2) + 0.0:+.2f}"


def centred(maps: NDArray[np.float64]) -> NDArray[np.float64]:
    """[…, rows, columns] minus the mean of each map."""
    centre: NDArray[np.float64] = maps.mean((-2, -1), keepdims=True)
    return maps - centre


def pair_maps(
    matcher: PairModel, pixels: Pixels, text: str, without: Iterable[int] = ()
) -> PairMaps:
    """The maps of a text and an image [S, S, C] as the model sees it. The patches `without`, which
    are counted row by row, are hidden.
    """
    words = text.split()
    if not words:
        raise RequestError("the text is empty; write what may be in the image")
    texts = torch.from_numpy(matcher.vectors_of_pieces(matcher.pieces_of(shortened(words))))
    grid = patches_of(matcher, len(pixels))
    without = check_patches(without, grid)
    colour = mean_colour(matcher.model.encoder, pixels.shape[-1])
    seen = with_hidden(pixels, grid, without, colour)

    def similarities(images: Pixels) -> Tensor:
        """[N, 1 + W]: with the whole text, and with each word left out"""
        return torch.from_numpy(matcher.vectors_of(images)).double() @ texts.double().T

    now = similarities(seen[None])[0]
    falls = hidden_patches(pixels, grid, colour, similarities, without).movedim(-1, 0)
    parts, rest = shares(matcher, seen, " ".join(words))
    return PairMaps(
        words=words,
        similarity=float(now[0]),
        pixels=seen,
        without_word=(now[0] - now[1:]).numpy(),
        hidden=falls[0].numpy(),
        together=(falls[0] - falls[1:]).numpy(),
        parts=parts,
        rest=rest,
    )


def patches_of(matcher: PairModel, size: int) -> Grid:
    """The rows and columns of the patches that can be hidden."""
    return cut_grid(matcher.model.encoder.grid, size)


def shortened(words: Sequence[str]) -> list[str]:
    """The text, and the text without each of its words."""
    whole = [" ".join(words)]
    return whole + [" ".join([*words[:at], *words[at + 1 :]]) for at in range(len(words))]


@torch.no_grad()
def shares(
    matcher: PairModel, pixels: Pixels, text: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[W, rows, columns] and [rows, columns]: what each cell adds to the similarity with each word,
    and with the marks of start and end. That is a product, because the vectors of image and text
    are sums of vectors of cells and of tokens, made as long as 1. Where they are not, [0, rows,
    columns] and zeros.
    """
    model, grid = matcher.model, matcher.model.encoder.grid
    device = next(model.parameters()).device
    cells = model.image_parts(torch.from_numpy(pixels[None]).permute(0, 3, 1, 2).to(device))
    (ids,) = matcher.pieces_of([text])
    tokens, mask = batch_texts([ids], matcher.tokenizer.specials)
    states, counts = model.text_parts(tokens.to(device), mask.to(device))
    if cells is None or not counts[0, 1:-1].any():
        return np.zeros((0, *grid)), np.zeros(grid)
    cells, states = cells[0].double(), (counts[..., None] * states)[0].double()
    length = cells.sum(0).norm() * states.sum(0).norm()
    table = (states @ cells.T / length).cpu()  # [tokens, S]
    _, owners = matcher.tokenizer.typed_words(text, ids)
    words = torch.zeros(len(text.split()), table.size(1), dtype=table.dtype)
    words.index_add_(0, torch.tensor(owners), table[1:-1])
    rest = table[0] + table[-1]
    return words.unflatten(-1, grid).numpy(), rest.unflatten(-1, grid).numpy()


@dataclass(frozen=True)
class Confusion:
    """A query whose best answer is wrong: an image that a text of another one fits better, or a
    text that another image fits better. All are numbers of images and texts.
    """

    query: int
    right: int  # the best of those that belong to it
    wrong: int  # the best of all
    right_similarity: float
    wrong_similarity: float

    @property
    def margin(self) -> float:
        return self.wrong_similarity - self.right_similarity


class Confusions(NamedTuple):
    """The worst of both directions."""

    to_texts: list[Confusion]  # of images
    to_images: list[Confusion]  # of texts

    def images(self) -> list[int]:
        """The numbers of all images in them."""
        shown = [each.query for each in self.to_texts]
        shown += [number for each in self.to_images for number in (each.right, each.wrong)]
        return sorted(set(shown))


def both_confusions(similarity: Tensor, right: Tensor, most: int) -> Confusions:
    """From the similarities [I, T], and which texts belong to which images [I, T]."""
    return Confusions(
        worst_confusions(similarity, right, most), worst_confusions(similarity.T, right.T, most)
    )


def worst_confusions(similarity: Tensor, right: Tensor, most: int) -> list[Confusion]:
    """The queries, rows of [I, T], whose wrong answer is further ahead of the right one than in
    other rows; `right` says which answers belong to which rows. The worst comes first.
    """
    own, at = similarity.masked_fill(~right, -torch.inf).max(1)
    other, there = similarity.masked_fill(right, -torch.inf).max(1)
    margins = other - own
    # A row without a right or without a wrong answer cannot be confused.
    wrong = (margins > 0) & margins.isfinite()
    order = margins.masked_fill(~wrong, -torch.inf).argsort(descending=True, stable=True)
    return [
        Confusion(row, int(at[row]), int(there[row]), float(own[row]), float(other[row]))
        for row in order[: min(most, int(wrong.sum()))].tolist()
    ]


def both_ways(similarity: NDArray[Any], scale: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """[I, T] each: the probability of each text, if one of them is right for the image, and of each
    image, if one of them is right for the text.
    """
    logits = torch.from_numpy(similarity * scale).double()
    return logits.softmax(1).numpy(), logits.softmax(0).numpy()


def on_patches(maps: NDArray[Any], grid: Grid) -> NDArray[Any]:
    """Maps of cells as maps of patches."""
    return over_patches(torch.from_numpy(maps), grid).numpy()
