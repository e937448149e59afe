"""Matcher: images and texts as vectors of one space, compared and searched."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar, cast, overload

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.image_files import ImageList, find_images
from regard.data.matching_pairs import batch_texts
from regard.errors import RequestError
from regard.evaluate.pairs import device_of
from regard.machine.devices import choose_device
from regard.models.clip import Clip
from regard.reporter import SILENT, Reporter
from regard.run import Run
from regard.tasks.embedder import Reader
from regard.tasks.image_index import ImageIndex, index_path
from regard.tasks.image_inputs import ImageReader, several
from regard.tasks.inputs import summary, texts_of
from regard.text.tokenizer import Tokenizer
from regard.weights import load_model

T = TypeVar("T")
Vectors = NDArray[np.float32]
AT_ONCE = 64
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


@dataclass(frozen=True)
class Hit:
    """An image that a search has found.

    Attributes
    ----------
    name : str
        As the folder or archive has it.
    number : int
        Its number in the list of images.
    similarity : float
        From -1 to 1.
    """

    name: str
    number: int
    similarity: float


class Matcher:
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
        width = f"vectors of {self.model.space.width} numbers"
        return summary("Matcher", self.folder, self.model, width)

    @classmethod
    def load(cls, folder: Path | str, device: str = "cpu") -> Self:
        """Load the matcher of a run folder.

        Parameters
        ----------
        folder
            The run folder.
        device
            cpu, cuda, mps, or auto for the best that there is.

        Returns
        -------
        Matcher

        Raises
        ------
        RunError
            There is no run in the folder, or one of another task.
        """
        run = Run.open(folder)
        recipe = run.recipe_for("matching")
        model = cast("Clip", load_model(run).to(choose_device(device)))
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
        parts = [self.vectors_of(self.reader.pixels(part)) for part in chunks(given)]
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
        room = min(self.max_length, self.model.longest) - 2
        parts = [self._none()]
        for part in chunks(given):
            rows = [ids[:room] for ids in self.tokenizer.encode_batch(list(part))]
            parts.append(self.vectors_of_pieces(rows))
        vectors = np.concatenate(parts)
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
        total = np.zeros((len(names), self.model.space.width), np.float32)
        for template in texts_of(templates, "match"):
            if GAP not in template:
                raise RequestError(
                    f"template {template!r}: {GAP} is missing; write it where the text goes, as in "
                    '"a photo of a {}"'
                )
            total += self.embed_texts([template.replace(GAP, name) for name in names])
        lengths = np.linalg.norm(total, axis=-1, keepdims=True)
        return cast("Vectors", total / lengths.clip(min=1e-12))

    def search(
        self,
        images: Path | str | Sequence[Path | str],
        text: str | None = None,
        *,
        like: Any = None,
        n_best: int = 10,
        index: Path | str | None = None,
        reporter: Reporter = SILENT,
    ) -> list[Hit]:
        """Find the images that fit a text, or that are like another image.

        The vectors of the images are kept in a file, and the next search only reads what is new
        or has changed.

        Parameters
        ----------
        images
            A folder, an .npz archive, or several.
        text
            What to look for in words.
        like
            An image to look for others like it, as `embed_images` takes it.
        n_best
            How many images to return.
        index
            The file of vectors; by default it is in the run folder.
        reporter
            Hears how far it has come.

        Returns
        -------
        list of Hit
            The most similar first.

        Raises
        ------
        RequestError
            Neither a text nor an image to look for, or both.
        """
        found = self.indexed(find_images(as_paths(images)), as_paths(images), index, reporter)
        return found.nearest(self.query(text, like), n_best)

    def query(self, text: str | None, like: Any) -> Vectors:
        """The vector of what to look for."""
        if (text is None) == (like is None):
            raise RequestError("search: give either a text or an image to look for")
        if text is None:
            return self.embed_images(like)
        if not text.strip():
            raise RequestError("search: the text is empty; write what to look for")
        return self.embed_texts(text)

    def indexed(
        self,
        images: ImageList,
        paths: Sequence[Path],
        index: Path | str | None = None,
        reporter: Reporter = SILENT,
    ) -> ImageIndex:
        """The vectors of images, of which only those are computed that the file does not have."""
        if index is None and self.folder is None:
            raise RequestError("search: this matcher is not of a run folder; name a file as index")
        path = Path(index) if index is not None else index_path(cast("Path", self.folder), paths)
        model = Run(self.folder).fingerprint() if self.folder else ""
        old = ImageIndex.open(path, model, self.model.space.width)
        return old.updated(images, self.vectors_of_list, path, reporter)

    def vectors_of_list(
        self, images: ImageList, numbers: Sequence[int]
    ) -> tuple[Vectors, list[int], list[str]]:
        """The vectors of those images of a list that can be read, their numbers, and what is wrong
        with the others.
        """
        pixels, read, problems = self.reader.readable(images, numbers)
        return self.vectors_of(pixels) if read else self._none(), read, problems

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
        return np.zeros((0, self.model.space.width), np.float32)


def as_paths(images: Path | str | Sequence[Path | str]) -> list[Path]:
    return [Path(images)] if isinstance(images, str | Path) else [Path(each) for each in images]


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), AT_ONCE):
        yield items[start : start + AT_ONCE]


def reader_of(matcher: Matcher) -> Reader:
    """How an embedder reads texts and images with a matcher: a text has one vector."""

    def features(ids: list[int]) -> torch.Tensor:
        return torch.from_numpy(matcher.vectors_of_pieces([ids]))

    room = min(matcher.max_length, matcher.model.longest) - 2
    return Reader(matcher.tokenizer, features, room, images=matcher.embed_images)
