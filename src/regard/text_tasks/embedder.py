"""Embedder: texts to vectors, by any model that reads them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.checkpoint import Run
from regard.data.label_ids import Row, batch_rows
from regard.errors import RequestError
from regard.machine import choose_device
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.models import RecurrentLanguageModel

ROWS_AT_ONCE = 32
TASKS = ("masked-language-model", "classification", "tagging", "language-model")
# One text's ids to the features of its tokens, [T, d].
Features = Callable[[list[int]], Tensor]


class Embedder:
    """Contextual vectors: the mean over a text's tokens, or one for each token."""

    def __init__(self, parts: Sequence[tuple[Tokenizer, Features]]) -> None:
        self.parts = parts

    @classmethod
    def load(
        cls, folder: Path | str, device: str = "cpu", backward: Path | str | None = None
    ) -> Self:
        """The embedder of a run folder. A language model reads one way only: give another that
        reads the other way, and both vectors stand side by side (Peters et al. 2018).
        """
        parts = [reader(folder, device)]
        if backward is not None:
            directions = [Run.open(each).recipe().data.direction for each in (folder, backward)]
            if directions != ["forward", "backward"]:
                raise RequestError(
                    f"{folder} reads {directions[0]} and {backward} {directions[1]}; "
                    "give a forward and a backward language model"
                )
            parts.append(reader(backward, device))
        return cls(parts)

    @torch.inference_mode()
    def tokens(self, text: str) -> tuple[list[str], NDArray[np.float32]]:
        """The pieces of a text and a vector for each: [T, d]"""
        found, pieces = [], []
        for tokenizer, features in self.parts:
            ids = tokenizer.encode(text)
            if not ids:
                raise RequestError("there is nothing in the text to make a vector of")
            pieces.append(tokenizer.pieces(ids))
            found.append(features(ids)[-len(ids) - 1 : -1])
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
            means = [features(tokenizer.encode(text)).mean(0) for tokenizer, features in self.parts]
            rows.append(torch.cat(means))
        return torch.stack(rows).numpy()


def reader(folder: Path | str, device: str) -> tuple[Tokenizer, Features]:
    """How the model of a run reads a text."""
    run = Run.open(folder)
    recipe = run.recipe_for(*TASKS)
    tokenizer = run.tokenizers().source
    labelling = recipe.task in ("classification", "tagging")
    outputs = len(run.labels()) if labelling else len(tokenizer)
    model: Any = run.network(len(tokenizer), outputs).to(choose_device(device))
    if recipe.task == "language-model":
        return tokenizer, continuing(model, tokenizer, recipe.data.direction == "backward")
    inner = model.reader if labelling else model

    def features(ids: list[int]) -> Tensor:
        row = Row(ids[: inner.longest - 2], [len(ids)])
        at = next(model.parameters()).device
        batch = batch_rows([Row(row.pieces, [len(row.pieces)])], tokenizer.specials, True).to(at)
        return cast("Tensor", inner.features(batch.tokens, batch.mask)[0].float().cpu())

    return tokenizer, features


def continuing(model: "RecurrentLanguageModel", tokenizer: Tokenizer, backward: bool) -> Features:
    """The states of a language model after each token, in the order of the text. The end of a
    document stands on either side of it, as it did in training.
    """

    def features(ids: list[int]) -> Tensor:
        end = tokenizer.specials.end
        given = [end, *ids, end]
        tokens = torch.tensor([given[::-1] if backward else given])
        tokens = tokens[:, : model.longest].to(next(model.parameters()).device)
        states = model.features(tokens)[0].float().cpu()
        return states.flip(0) if backward else states

    return features
