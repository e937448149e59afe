"""Starts training from another run: takes its model from its recipe, and its weights."""

import torch
from torch import nn

from regard.errors import RecipeError
from regard.recipe import Recipe, parse
from regard.run import Run
from regard.weights import kept, read_tensors

# Weights that belong to a task, not to what a model has learned of the language.
OWN = ("output.", "pooler.", "relation.", "head.", "head_norm.")


def with_model_of(recipe: Recipe, run: Run) -> Recipe:
    """The recipe with the model of the run that it starts from, except for its own settings. A
    started run has this model in its own recipe already.
    """
    if not recipe.train.from_run:
        return recipe
    started = run.recipe_path.exists()
    model = (run if started else Run.open(recipe.train.from_run)).recipe().model
    given = recipe.model.model_dump(mode="json", include=recipe.model.model_fields_set)
    if "model" not in recipe.model_fields_set:
        given = {}
    kind = getattr(model, "kind", None)
    if given.get("kind", kind) != kind:
        return recipe
    if type(model) not in {*recipe.models.values(), type(recipe.model)}:
        raise RecipeError(
            f"train.from_run {recipe.train.from_run}: a model of kind {kind} for another "
            f"task cannot become one for {recipe.task}"
        )
    values = recipe.model_dump(mode="json", exclude_none=True)
    values["model"] = model.model_dump(mode="json") | given
    return parse(values, recipe.train.from_run)


@torch.no_grad()
def from_run(model: nn.Module, folder: str) -> str:
    """Copy all weights that a run has under the same name, with or without a prefix "reader."."""
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
    return f"The model starts from what {folder} has learned."
