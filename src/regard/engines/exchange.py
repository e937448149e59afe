"""What passes between a run and a folder of Hugging Face's transformers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.errors import RunError
from regard.recipe import Recipe
from regard.text.tokenizer import Tokenizers


@dataclass(frozen=True)
class Exported:
    """A run as transformers reads it."""

    config: dict[str, Any]
    tensors: Mapping[str, Tensor]
    files: Mapping[str, Mapping[str, Any]]  # the contents of other JSON files by name
    how: str  # lines for the card: how to load it


@dataclass(frozen=True)
class Imported:
    """What transformers saved, as a run holds it."""

    recipe: Recipe
    tensors: Mapping[str, Tensor]
    sizes: Mapping[str, int]
    tokenizers: Tokenizers | None = None
    labels: tuple[str, ...] = ()


def in_words(recipe: Any) -> str:
    """The model of a recipe in a few words, with its encoder of images where that is another."""
    model = str(recipe.model.summary())
    return f"{recipe.encoder.summary()}; {model}" if hasattr(recipe, "encoder") else model


def loading(name: str, used: Mapping[str, str], *then: str) -> str:
    """Lines of Python that load a folder, and what may follow; `used` has the class of each
    object.
    """
    lines = [f"from transformers import {', '.join(sorted(used.values()))}"]
    lines += [f'{what} = {kind}.from_pretrained("{name}")' for what, kind in used.items()]
    lines += then
    if any("Image." in line for line in then):
        lines.insert(0, "from PIL import Image")
    return "".join(f"    {line}\n" for line in lines)


def with_known_pieces(
    tensors: Mapping[str, Tensor], tokenizers: Tokenizers, folder: Path
) -> dict[str, Tensor]:
    """The tensors without rows that belong to no piece: vocabularies are often filled up to a round
    number.
    """
    sizes = {
        "source_embedding.weight": len(tokenizers.source),
        "target_embedding.weight": len(tokenizers.target),
        "output.weight": len(tokenizers.target),
        "output.bias": len(tokenizers.target),
        "embedding.weight": len(tokenizers.target),
        "reader.embedding.weight": len(tokenizers.source),
    }
    for name, size in sizes.items():
        if name in tensors and len(tensors[name]) < size:
            raise RunError(
                f"{folder}: the tokenizer has {size} pieces, the model {len(tensors[name])}; "
                "they are not from the same model"
            )
    return {name: tensor[: sizes.get(name)] for name, tensor in tensors.items()}
