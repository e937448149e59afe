"""Searches images by words or by another image, with anything that makes vectors of both."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from regard.data.image_files import ImageList, find_images
from regard.errors import RequestError
from regard.reporter import SILENT, Reporter
from regard.run import Run
from regard.tasks.image_index import Hit, ImageIndex, Vectors, index_path


class ImageSearch(ABC):
    """The part of a matcher that finds images."""

    folder: Path | None  # of the run

    @abstractmethod
    def embed_images(self, images: Any) -> Vectors:
        """Turn images into vectors of length 1."""

    @abstractmethod
    def embed_texts(self, texts: str | Iterable[str]) -> Vectors:
        """Turn texts into vectors of length 1."""

    @abstractmethod
    def vectors_of_list(
        self, images: ImageList, numbers: Sequence[int]
    ) -> tuple[Vectors, list[int], list[str]]:
        """The vectors of those images of a list that can be read, their numbers, and what is wrong
        with the others.
        """

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers a vector has."""

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
        old = ImageIndex.open(path, model, self.width)
        return old.updated(images, self.vectors_of_list, path, reporter)


def as_paths(images: Path | str | Sequence[Path | str]) -> list[Path]:
    return [Path(images)] if isinstance(images, str | Path) else [Path(each) for each in images]
