"""Initial embeddings: vectors of words from a file, or from another run."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from regard.tasks.neighbours import WordVectors
from regard.tasks.sections import WordsSection
from regard.text.tokenizer import Tokenizer
from regard.text.vectors import Vectors, chosen, read_vectors


def from_vectors(data: WordsSection, tokenizer: Tokenizer) -> Callable[[nn.Module], str] | None:
    """A function that fills a new model with the vectors that the recipe names, if any."""
    if not data.embeddings:
        return None
    path = Path(data.folder, data.embeddings)
    return lambda model: take_vectors(model, tokenizer, path)


@torch.no_grad()
def take_vectors(model: nn.Module, tokenizer: Tokenizer, path: Path) -> str:
    """Set the embeddings of pieces that are whole words; return how many were found. They get the
    standard deviation of the embeddings they replace, which the model expects.
    """
    weight = embedding_of(model).weight
    words = {
        piece.removeprefix("▁"): i
        for i, piece in enumerate(tokenizer.vocabulary)
        if piece.startswith("▁") and len(piece) > 1
    }
    read = vectors_of_run if path.is_dir() else read_vectors
    found = read(path, set(words), weight.size(1))
    if found:
        table = torch.from_numpy(np.stack(list(found.values())))
        places = torch.tensor([words[word] for word in found])
        table = (table - table.mean(0)) / table.std().clamp(min=1e-8) * weight.std()
        weight[places] = table.to(weight)
    share = len(found) / max(1, len(words))
    return f"{path}: vectors for {len(found):,} of {len(words):,} words ({share:.0%})"


def vectors_of_run(folder: Path, wanted: set[str], width: int) -> Vectors:
    """The vectors of the wanted words that a run has, like those of a file."""
    found = WordVectors.load(folder)
    return chosen(zip(found.words, found.vectors, strict=True), wanted, width, folder)


def embedding_of(model: nn.Module) -> nn.Embedding:
    """The table of embeddings of a model that reads or writes tokens; a translator's are those of
    its source.
    """
    for part in model.modules():
        for name in ("source_embedding", "embedding"):
            found = getattr(part, name, None)
            if isinstance(found, nn.Embedding):
                return found
    raise AssertionError("every model of text has embeddings")
