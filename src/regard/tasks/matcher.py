"""Matcher: images and texts as vectors of one space, compared with each other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast, overload

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.image_files import ImageList
from regard.data.matching_pairs import batch_texts
from regard.errors import RequestError
from regard.evaluate.pairs import device_of
from regard.inspect.matching import PairMaps, pair_maps
from regard.models.clip import Clip
from regard.run import Run
from regard.tasks.embedder import Reader
from regard.tasks.from_run import FromRun
from regard.tasks.image_inputs import ImageReader, in_parts, several
from regard.tasks.image_search import ImageSearch
from regard.tasks.inputs import summary, texts_of
from regard.text.tokenizer import Tokenizer

Vectors = NDArray[np.float32]
# Where the class goes in a template.
GAP = "{}"


@dataclass(frozen=True, repr=False)
class Match:
    """How well texts fit an image.

    Attributes
    ----------
    text : str
        The text that fits best.
    probabilities : dict of str to float
        The probability of each text, if one of them is right; the likeliest first.
    similarities : dict of str to float
        From -1 to 1, in the same order.
    """

    text: str
    probabilities: dict[str, float]
    similarities: dict[str, float]

    def __repr__(self) -> str:
        return f"Match({self.text!r}, {self.probabilities[self.text]:.3f})"

    def _repr_html_(self) -> str:
        from regard import notebook

        return notebook.bars(self.probabilities)


class Matcher(FromRun, ImageSearch):
    """Compares images with texts, and finds images by words or by another image.

    `regard.load` or `Matcher.load` gives one of a run folder.

    Examples
    --------
    >>> import regard
    >>> matcher = regard.load("runs/matching")  # doctest: +SKIP
    >>> matcher.match("rex.jpg", ["a dog", "a cat"]).text  # doctest: +SKIP
    'a dog'
    >>> matcher.search("photos", "a dog on a beach")[0].name  # doctest: +SKIP
    'summer/rex.jpg'
    """

    task = "matching"

    def __init__(
        self,
        model: Clip,
        tokenizer: Tokenizer,
        reader: ImageReader,
        max_length: int = 64,
        folder: Path | None = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.reader = reader
        self.max_length = max_length
        self.folder = folder

    def __repr__(self) -> str:
        return summary("Matcher", self.folder, self.model, f"vectors of {self.width} numbers")

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        return self.model.space.width

    @classmethod
    def _of(cls, run: Run, recipe: Any, model: Any) -> Self:
        reader = ImageReader.of(recipe.data)
        return cls(model, run.tokenizers().source, reader, recipe.data.max_length, run.folder)

    def embed_images(self, images: Any) -> Vectors:
        """Turn images into vectors of length 1.

        Parameters
        ----------
        images
            An image, or several in a list or an iterator: the name of a file, an image of Pillow,
            or an array of pixels.

        Returns
        -------
        numpy array
            A vector [w] for an image, [images, w] for several.

        Raises
        ------
        DataError
            An image cannot be read.
        """
        given, single = several(images)
        parts = [self.vectors_of(self.reader.pixels(part)) for part in in_parts(given)]
        vectors = np.concatenate([*parts, self._none()])
        return cast("Vectors", vectors[0]) if single else vectors

    def embed_texts(self, texts: str | Iterable[str]) -> Vectors:
        """Turn texts into vectors of length 1.

        Parameters
        ----------
        texts
            A text, or several in a list, an iterator or a column of a table. A long text is cut to
            the length that the model reads.

        Returns
        -------
        numpy array
            A vector [w] for a text, [texts, w] for several.

        Raises
        ------
        RequestError
            What was given is not a text.
        """
        given = texts_of(texts, "embed_texts")
        parts = [self.vectors_of_pieces(self.pieces_of(part)) for part in in_parts(given)]
        vectors = np.concatenate([self._none(), *parts])
        return cast("Vectors", vectors[0]) if isinstance(texts, str) else vectors

    def similarity(self, images: Any, texts: str | Iterable[str]) -> Vectors:
        """Compare each image with each text.

        Parameters
        ----------
        images
            Images, as `embed_images` takes them.
        texts
            Texts, as `embed_texts` takes them.

        Returns
        -------
        numpy array
            [images, texts], cosines from -1 to 1.
        """
        found = np.atleast_2d(self.embed_images(images)) @ np.atleast_2d(self.embed_texts(texts)).T
        return cast("Vectors", found)

    @overload
    def match(
        self, images: str | Path, texts: Iterable[str], templates: str | Iterable[str] = GAP
    ) -> Match: ...
    @overload
    def match(
        self, images: Iterable[Any], texts: Iterable[str], templates: str | Iterable[str] = GAP
    ) -> list[Match]: ...
    def match(
        self, images: Any, texts: Iterable[str], templates: str | Iterable[str] = GAP
    ) -> Match | list[Match]:
        """Find the text that fits an image best: a classifier of any classes, without training.

        Parameters
        ----------
        images
            An image or several, as `embed_images` takes them.
        texts
            The texts to choose from, such as the names of classes.
        templates
            A sentence with `{}` where a text goes, such as `"a photo of a {}"`, or several, whose
            mean is taken.

        Returns
        -------
        Match or list of Match
            One for an image, a list in the same order for several.

        Raises
        ------
        RequestError
            There is no text, the same one twice, or a template without `{}`.
        """
        given, single = several(images)
        names = texts_of(texts, "match")
        classes = self.embed_classes(names, templates)
        cosines = self.embed_images(given) @ classes.T
        scale = float(self.model.scale.detach())
        shares = torch.from_numpy(cosines * scale).double().softmax(-1).numpy()
        found = []
        for cosine, share in zip(cosines, shares, strict=True):
            order = np.argsort(-share, kind="stable")
            found.append(
                Match(
                    names[order[0]],
                    {names[i]: float(share[i]) for i in order},
                    {names[i]: float(cosine[i]) for i in order},
                )
            )
        return found[0] if single else found

    def embed_classes(self, names: Sequence[str], templates: str | Iterable[str]) -> Vectors:
        """The vectors of texts within templates, [texts, w]."""
        if not names:
            raise RequestError("match: there is no text to choose; give at least one")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise RequestError(f"match: {twice[0]!r} is given twice; leave one out")
        total = np.zeros((len(names), self.width), np.float32)
        for template in texts_of(templates, "match"):
            if GAP not in template:
                raise RequestError(
                    f"template {template!r}: {GAP} is missing; write it where the text goes, as in "
                    '"a photo of a {}"'
                )
            total += self.embed_texts([template.replace(GAP, name) for name in names])
        lengths = np.linalg.norm(total, axis=-1, keepdims=True)
        return cast("Vectors", total / lengths.clip(min=1e-12))

    def vectors_of_list(
        self, images: ImageList, numbers: Sequence[int]
    ) -> tuple[Vectors, list[int], list[str]]:
        """The vectors of those images of a list that can be read, their numbers, and what is wrong
        with the others.
        """
        pixels, read, problems = self.reader.readable(images, numbers)
        return self.vectors_of(pixels) if read else self._none(), read, problems

    def maps(self, image: Any, text: str) -> PairMaps:
        """Look at which parts of an image and which words make a text fit it.

        Parameters
        ----------
        image
            The name of a file, an image of Pillow, or an array of pixels.
        text
            The text to compare it with.

        Returns
        -------
        PairMaps

        Raises
        ------
        DataError
            The image cannot be read.
        RequestError
            The text is empty.
        """
        return pair_maps(self, self.reader.square(image), text)

    def pieces_of(self, texts: Sequence[str]) -> list[list[int]]:
        """Texts as pieces, cut to the length that the model reads."""
        room = min(self.max_length, self.model.longest) - 2
        return [ids[:room] for ids in self.tokenizer.encode_batch(list(texts))]

    @torch.inference_mode()
    def vectors_of(self, pixels: NDArray[np.uint8]) -> Vectors:
        """[B, S, S, C] as the model sees them → [B, w]"""
        images = torch.from_numpy(pixels).permute(0, 3, 1, 2).to(device_of(self.model))
        return cast("Vectors", self.model.image_vectors(images).float().cpu().numpy())

    @torch.inference_mode()
    def vectors_of_pieces(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """Texts as pieces → [B, w]"""
        tokens, mask = batch_texts(rows, self.tokenizer.specials)
        device = device_of(self.model)
        vectors = self.model.text_vectors(tokens.to(device), mask.to(device))
        return cast("Vectors", vectors.float().cpu().numpy())

    def _none(self) -> Vectors:
        return np.zeros((0, self.width), np.float32)


def reader_of(matcher: Matcher) -> Reader:
    """How an embedder reads texts and images with a matcher: a text has one vector."""

    def features(ids: list[int]) -> torch.Tensor:
        return torch.from_numpy(matcher.vectors_of_pieces([ids]))

    room = min(matcher.max_length, matcher.model.longest) - 2
    return Reader(matcher.tokenizer, features, room, images=matcher.embed_images)
