"""Initial embeddings: vectors of words from a file."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from regard.tasks.sections import WordsSection
from regard.text.tokenizer import Tokenizer
from regard.text.vectors import read_vectors


def from_vectors(data: WordsSection, tokenizer: Tokenizer) -> Callable[[nn.Module], str] | None:
    """A function that fills a new model with the vectors that the recipe names, if any."""
    if not data.embeddings:
        return None
    path = Path(data.folder, data.embeddings)
    return lambda model: take_vectors(model, tokenizer, path)


@torch.no_grad()
def take_vectors(model: nn.Module, tokenizer: Tokenizer, path: Path) -> str:
    """Set the embeddings of pieces that are whole words from a file; return how many were found.
    They get the standard deviation of the embeddings they replace, which the model expects.
    """
    weight = embedding_of(model).weight
    words = {
        piece.removeprefix("▁"): i
        for i, piece in enumerate(tokenizer.vocabulary)
        if piece.startswith("▁") and len(piece) > 1
    }
    found = read_vectors(path, set(words), weight.size(1))
    if found:
        table = torch.stack([torch.from_numpy(vector) for vector in found.values()])
        places = torch.tensor([words[word] for word in found])
        table = (table - table.mean(0)) / table.std().clamp(min=1e-8) * weight.std()
        weight[places] = table.to(weight)
    share = len(found) / max(1, len(words))
    return f"{path}: vectors for {len(found):,} of {len(words):,} words ({share:.0%})"


def embedding_of(model: nn.Module) -> nn.Embedding:
    inner = getattr(model, "reader", model)
    found = getattr(inner, "embedding", None) or getattr(inner, "source_embedding", None)
    assert isinstance(found, nn.Embedding)  # every model reads tokens
    return found
