"""Embedder: texts to vectors, by any model that reads them."""

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard import tasks
from regard.data.batch import batch_sources
from regard.data.label_ids import Row, batch_rows
from regard.errors import RequestError
from regard.machine.devices import choose_device
from regard.run import Run
from regard.tasks.inputs import texts_of
from regard.tasks.neighbours import WordVectors
from regard.text.tokenizer import Tokenizer
from regard.text.word_vocabulary import WordVocabulary, vocabulary_file
from regard.weights import load_model

if TYPE_CHECKING:
    from regard.models import Model, RecurrentLanguageModel

ROWS_AT_ONCE = 32
# From ids to the features of these and of the special tokens around them, [T, d]: one after them,
# and at most one before them.
Features = Callable[[list[int]], Tensor]


@dataclass(frozen=True)
class Reader:
    """The way a run's model reads a text, and the number of tokens it reads at a time."""

    tokenizer: Tokenizer | WordVocabulary
    features: Features
    room: int
    # Images to vectors [images, d], by a model that reads them as well; its texts have one vector
    # each, which is not a mean over tokens.
    images: Callable[[Sequence[Any]], NDArray[np.float32]] | None = None

    def parts(self, ids: list[int]) -> list[list[int]]:
        """As few parts as possible, of about the same length."""
        count = max(1, math.ceil(len(ids) / max(1, self.room)))
        size = max(1, math.ceil(len(ids) / count))
        return [ids[begin : begin + size] for begin in range(0, len(ids), size)] or [ids]


class Embedder:
    """Turns texts into vectors: the mean over a text's tokens, or one for each token.

    A run of any task has one. A text that is too long for the model is read in parts.

    Examples
    --------
    >>> import regard
    >>> embedder = regard.Embedder.load("runs/reviews")
    >>> embedder.embed("a fine film").shape
    (16,)
    >>> embedder.embed(["a fine film", "a bad one"]).shape
    (2, 16)
    """

    def __init__(self, readers: Sequence[Reader], folder: Path | None = None) -> None:
        self.readers = readers
        self.folder = folder

    def __repr__(self) -> str:
        where = repr(str(self.folder)) if self.folder else "not saved"
        return f"Embedder({where}: vectors of {self.embed('').shape[0]} numbers)"

    @classmethod
    def load(
        cls, folder: Path | str, device: str = "cpu", backward: Path | str | None = None
    ) -> Self:
        """Load the embedder of a run folder.

        Parameters
        ----------
        folder
            The run folder.
        device
            cpu, cuda, mps, or auto for the best that there is.
        backward
            A language model reads one way only: the folder of another that reads the other way,
            whose vectors then stand beside the first (Peters et al. 2018).

        Returns
        -------
        Embedder

        Raises
        ------
        RequestError
            The two runs are not a forward and a backward language model.
        """
        readers = [reader(folder, device)]
        if backward is not None:
            recipes = [Run.open(each).recipe_for("language-model") for each in (folder, backward)]
            directions = [recipe.data.direction for recipe in recipes]
            if directions != ["forward", "backward"]:
                raise RequestError(
                    f"{folder} reads {directions[0]} and {backward} {directions[1]}; "
                    "give a forward and a backward language model"
                )
            readers.append(reader(backward, device))
        return cls(readers, Path(folder))

    @torch.inference_mode()
    def tokens(self, text: str) -> tuple[list[str], NDArray[np.float32]]:
        """Turn each token of a text into a vector.

        Parameters
        ----------
        text
            A text that is not empty.

        Returns
        -------
        tuple of (list of str, numpy array)
            The pieces of the text, and a vector for each: [tokens, d].

        Raises
        ------
        RequestError
            The text is empty, two models cut it differently, or the run has no such vectors.
        """
        if self.reads_images:
            raise RequestError("this run makes one vector of a text, and none of its tokens")
        found, pieces = [], []
        for reader in self.readers:
            ids = reader.tokenizer.encode(text)
            if not ids:
                raise RequestError("there is nothing in the text to make a vector of")
            pieces.append(reader.tokenizer.pieces(ids))
            read = [reader.features(part)[-len(part) - 1 : -1] for part in reader.parts(ids)]
            found.append(torch.cat(read))
        if len(found) > 1 and pieces[0] != pieces[1]:
            raise RequestError("the two models cut the text differently; train them on the same")
        return pieces[0], torch.cat(found, dim=-1).numpy()

    @torch.inference_mode()
    def embed(self, texts: str | Iterable[str]) -> NDArray[np.float32]:
        """Turn texts into vectors, each the mean over its tokens, special tokens included.

        Parameters
        ----------
        texts
            A text, or several in a list, an iterator or a column of a table.

        Returns
        -------
        numpy array
            A vector [d] for a text, [texts, d] for several.

        Raises
        ------
        RequestError
            What was given is not a text.
        """
        # The empty text after the others: how long a vector is shows even where there are none.
        rows = [self._vector(text) for text in (*texts_of(texts, "embed"), "")]
        vectors: NDArray[np.float32] = torch.stack(rows)[:-1].numpy()
        return vectors[0] if isinstance(texts, str) else vectors

    @property
    def reads_images(self) -> bool:
        """Whether it turns images into vectors of the same space."""
        return self.readers[0].images is not None

    def embed_images(self, images: Iterable[Any]) -> NDArray[np.float32]:
        """Turn images into vectors.

        Parameters
        ----------
        images
            Several images: names of files, images of Pillow, or arrays of pixels.

        Returns
        -------
        numpy array
            [images, d]

        Raises
        ------
        RequestError
            The run reads texts only.
        """
        read = self.readers[0].images
        if read is None:
            raise RequestError(f"{self.folder}: this run reads texts only, and no images")
        return read(list(images))

    def _vector(self, text: str) -> Tensor:
        means = []
        for reader in self.readers:
            parts = reader.parts(reader.tokenizer.encode(text))
            means.append(torch.cat([reader.features(part) for part in parts]).mean(0))
        return torch.cat(means)


def reader(folder: Path | str, device: str) -> Reader:
    """The reader of a run. It reads no more at a time than in training: positions that training
    never reached mean nothing.
    """
    run = Run.open(folder)
    found = tasks.get(run.task_name()).reader
    if found is None:
        raise RequestError(f"{folder}: this run does not read texts, so it has no vectors of them")
    return found(run, device)


def loaded(run: Run, device: str) -> tuple[Any, Tokenizer]:
    return load_model(run).to(choose_device(device)), run.tokenizers().source


def writing_reader(run: Run, device: str) -> Reader:
    """A language model as a reader. A recurrent one carries what it has read into the next part."""
    recipe: Any = run.recipe()
    model, tokenizer = loaded(run, device)
    features = continuing(model, tokenizer, recipe.data.direction == "backward")
    carries = recipe.model.kind == "recurrent"
    return Reader(tokenizer, features, sys.maxsize if carries else recipe.data.context - 2)


def masked_reader(run: Run, device: str) -> Reader:
    recipe: Any = run.recipe()
    model, tokenizer = loaded(run, device)
    room = min(recipe.data.context, model.longest) - 2
    return Reader(tokenizer, reading(model, tokenizer), room)


def labelling_reader(run: Run, device: str) -> Reader:
    recipe: Any = run.recipe()
    model, tokenizer = loaded(run, device)
    room = min(recipe.data.max_length, model.reader.longest) - 2
    if model.letters is None:
        return Reader(tokenizer, reading(model.reader, tokenizer), room)
    return Reader(tokenizer, reading_words(model, tokenizer), room)


def reading_words(model: Any, tokenizer: Tokenizer) -> Features:
    """The features of a text by a tagger that reads the letters of its words, too."""

    def features(ids: list[int]) -> Tensor:
        specials = tokenizer.specials
        tokens = torch.tensor([[specials.start, *ids, specials.end]])
        units = torch.tensor([[-1, *tokenizer.word_of(ids), -1]])
        device = next(model.parameters()).device
        given = (each.to(device) for each in (tokens, torch.ones_like(tokens) > 0, units))
        return cast("Tensor", model.states(*given)[0].float().cpu())

    return features


def word_reader(run: Run, device: str) -> Reader:
    """A text as the vectors of its words; their mean stands for its end, and so for the text."""
    vectors = torch.from_numpy(WordVectors.load(run.folder, device).vectors)

    def features(ids: list[int]) -> Tensor:
        found = vectors[ids]
        mean = found.mean(0, keepdim=True) if ids else torch.zeros(1, vectors.size(1))
        return torch.cat((found, mean))

    return Reader(WordVocabulary.load(vocabulary_file(run.folder)), features, sys.maxsize)


def reading(model: Any, tokenizer: Tokenizer) -> Features:
    """The features of a text by an encoder, its start and end included."""

    def features(ids: list[int]) -> Tensor:
        batch = batch_rows([Row(ids, [len(ids)])], tokenizer.specials, whole_text=True)
        batch = batch.to(next(model.parameters()).device)
        return cast("Tensor", model.features(batch.tokens, batch.mask)[0].float().cpu())

    return features


def encoding(model: "Model", tokenizer: Tokenizer) -> Features:
    """The features of a source by a translator's encoder, its end included."""

    def features(ids: list[int]) -> Tensor:
        source, mask = batch_sources([[*ids, tokenizer.specials.end]])
        device = next(model.parameters()).device
        return model.encode(source.to(device), mask.to(device))[0].float().cpu()

    return features


def continuing(model: "RecurrentLanguageModel", tokenizer: Tokenizer, backward: bool) -> Features:
    """The states of a language model after each token, in the order of the text. The end of a
    document stands on either side of it, as it did in training.
    """

    def features(ids: list[int]) -> Tensor:
        end = tokenizer.specials.end
        given = [end, *ids, end]
        tokens = torch.tensor([given[::-1] if backward else given])
        tokens = tokens.to(next(model.parameters()).device)
        states = model.features(tokens)[0].float().cpu()
        return states.flip(0) if backward else states

    return features
