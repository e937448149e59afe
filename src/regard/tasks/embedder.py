"""Embedder: texts to vectors, by any model that reads them."""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.checkpoint import Run
from regard.data.batch import batch_sources
from regard.data.label_ids import Row, batch_rows
from regard.errors import RequestError
from regard.machine.devices import choose_device
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.models import Model, RecurrentLanguageModel

ROWS_AT_ONCE = 32
TASKS = ("masked-language-model", "classification", "tagging", "language-model", "translation")
# Ids to the features of these and of what goes around them, [T, d]: one thing after them, and
# before them one or nothing.
Features = Callable[[list[int]], Tensor]


@dataclass(frozen=True)
class Reader:
    """How the model of a run reads a text, and how many tokens of it at a time."""

    tokenizer: Tokenizer
    features: Features
    room: int

    def parts(self, ids: list[int]) -> list[list[int]]:
        """As few as can be, of about the same length."""
        count = max(1, math.ceil(len(ids) / max(1, self.room)))
        size = max(1, math.ceil(len(ids) / count))
        return [ids[begin : begin + size] for begin in range(0, len(ids), size)] or [ids]


class Embedder:
    """Contextual vectors: the mean over a text's tokens, or one for each token. What is longer than
    a model reads is read in parts.
    """

    def __init__(self, readers: Sequence[Reader]) -> None:
        self.readers = readers

    @classmethod
    def load(
        cls, folder: Path | str, device: str = "cpu", backward: Path | str | None = None
    ) -> Self:
        """The embedder of a run folder. A language model reads one way only: give another that
        reads the other way, and both vectors stand side by side (Peters et al. 2018).
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
        return cls(readers)

    @torch.inference_mode()
    def tokens(self, text: str) -> tuple[list[str], NDArray[np.float32]]:
        """The pieces of a text and a vector for each: [T, d]"""
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
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector for each text: [N, d], the mean over its tokens and what goes around them."""
        if isinstance(texts, str):
            raise RequestError("embed takes a list of texts; put the text in brackets")
        rows = []
        for text in texts:
            means = []
            for reader in self.readers:
                parts = reader.parts(reader.tokenizer.encode(text))
                means.append(torch.cat([reader.features(part) for part in parts]).mean(0))
            rows.append(torch.cat(means))
        return torch.stack(rows).numpy()


def reader(folder: Path | str, device: str) -> Reader:
    """How the model of a run reads a text. No more of it at a time than in training: positions that
    were never met mean nothing.
    """
    run = Run.open(folder)
    recipe = run.recipe_for(*TASKS)
    tokenizer = run.tokenizers().source
    labelling = recipe.task in ("classification", "tagging")
    outputs = len(run.labels()) if labelling else len(run.tokenizers().target)
    model: Any = run.network(len(tokenizer), outputs).to(choose_device(device))
    if recipe.task == "language-model":
        features = continuing(model, tokenizer, recipe.data.direction == "backward")
        carries = recipe.model.kind == "recurrent"
        return Reader(tokenizer, features, sys.maxsize if carries else recipe.data.context - 2)
    if recipe.task == "translation":
        return Reader(tokenizer, encoding(model, tokenizer), recipe.data.max_length - 1)
    inner = model.reader if labelling else model

    def features_of(ids: list[int]) -> Tensor:
        batch = batch_rows([Row(ids, [len(ids)])], tokenizer.specials, whole_text=True)
        batch = batch.to(next(model.parameters()).device)
        return cast("Tensor", inner.features(batch.tokens, batch.mask)[0].float().cpu())

    longest = recipe.data.max_length if labelling else recipe.data.context
    return Reader(tokenizer, features_of, min(longest, inner.longest) - 2)


def encoding(model: "Model", tokenizer: Tokenizer) -> Features:
    """What a translator's encoder makes of a source, its end included."""

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
