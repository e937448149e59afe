"""What a model knows before its first update: the weights of another run, vectors of words from a
file, or which pieces of its own text stand near each other.
"""

from pathlib import Path

import torch
from torch import nn

from regard.checkpoint import Run
from regard.data.neighbours import count_neighbours
from regard.data.stream import Stream
from regard.errors import RecipeError
from regard.models import Bert
from regard.recipe import MODELS, Recipe, parse
from regard.text.tokenizer import Tokenizer
from regard.text.vectors import read_vectors
from regard.weights import kept, read_tensors

# What belongs to a task and not to what was learned of the language.
OWN = ("output.", "pooler.", "relation.", "head.", "head_norm.")


def with_model_of(recipe: Recipe, run: Run) -> Recipe:
    """What a recipe that begins from a run does not say of its model is as in that run; a started
    run has noted it in its own recipe.
    """
    if not recipe.train.from_run:
        return recipe
    begun = run.recipe_path.exists()
    model = (run if begun else Run.open(recipe.train.from_run)).recipe().model
    said = recipe.model.model_dump(mode="json", include=recipe.model.model_fields_set)
    if "model" not in recipe.model_fields_set:
        said = {}
    if said.get("kind", model.kind) != model.kind:
        return recipe
    if MODELS[recipe.task].get(model.kind) is not type(model):
        raise RecipeError(
            f"train.from_run {recipe.train.from_run}: a model of kind {model.kind} for another "
            f"task cannot become one for {recipe.task}"
        )
    values = recipe.model_dump(mode="json", exclude_none=True)
    values["model"] = model.model_dump(mode="json") | said
    return parse(values, recipe.train.from_run)


def take_tokenizer(run: Run, recipe: Recipe) -> None:
    """What was learned is of the pieces of that run's tokenizer."""
    if recipe.train.from_run and not run.has_tokenizers():
        run.save_tokenizers(Run.open(recipe.train.from_run).tokenizers())


def begin_with(model: nn.Module, run: Run, recipe: Recipe) -> str:
    """Fill a fresh model with what the recipe names; a sentence about it, or nothing."""
    if recipe.train.from_run:
        take_weights(model, recipe.train.from_run)
        return f"The model begins with what {recipe.train.from_run} has learned."
    if recipe.data.embeddings:
        path = Path(recipe.data.folder, recipe.data.embeddings)
        return take_vectors(model, run.tokenizers().source, path)
    if recipe.data.counted_window:
        take_counts(model, Stream.open(run.training / "data", "train"), recipe.data.counted_window)
    return ""


@torch.no_grad()
def take_weights(model: nn.Module, folder: str) -> None:
    """All weights that a run has under the same name, or under the name of a labeller's reader."""
    path = Run.open(folder).model_path
    tensors, _ = read_tensors(path)
    for name, own in kept(model).items():
        plain = name.removeprefix("reader.")
        found = tensors.get(name, tensors.get(plain, tensors.get(f"reader.{name}")))
        if found is not None and found.shape == own.shape:
            own.copy_(found)
        elif not plain.startswith(OWN):
            what = "it has none" if found is None else f"there it is {tuple(found.shape)}"
            raise RecipeError(
                f"{path}: {plain} is {tuple(own.shape)} in the recipe's model, {what}; "
                "leave [model] out of the recipe to take the run's"
            )


@torch.no_grad()
def take_vectors(model: nn.Module, tokenizer: Tokenizer, path: Path) -> str:
    """Embeddings of the pieces that are whole words, from a file; says how many were found.
    Their spread becomes that of the embeddings they replace, which the rest of the model expects.
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


@torch.no_grad()
def take_counts(model: nn.Module, text: Stream, window: int) -> None:
    """Embeddings of all pieces in the text from their neighbours, as strong as the positions that
    are added to them, and for what is foreseen anywhere how often each piece occurs.
    """
    assert isinstance(model, Bert)  # the recipe has seen to it
    weight, bias = model.embedding.weight, model.output.bias
    vocabulary, width = weight.shape
    vectors, occurrences = count_neighbours(text, vocabulary, width, window)
    known = occurrences.to(weight.device) > 0
    strength = model.positions.table.pow(2).mean().sqrt() * width**0.5
    weight[known, : vectors.size(1)] = strength * vectors.to(weight)[known]
    bias.copy_(((occurrences + 1) / occurrences.sum()).log())


def embedding_of(model: nn.Module) -> nn.Embedding:
    inner = getattr(model, "reader", model)
    found = getattr(inner, "embedding", None) or getattr(inner, "source_embedding", None)
    assert isinstance(found, nn.Embedding)  # every model reads tokens
    return found
