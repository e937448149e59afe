"""Starts a new model from the weights of another run."""

import torch
from torch import nn

from regard.errors import RecipeError, RunError
from regard.made_with import check
from regard.run import Run
from regard.weights import all_finite, kept, read_tensors

# Weights that belong to a task, not to what a model has learned of the language.
OWN = ("output.", "pooler.", "relation.", "head.", "head_norm.")


@torch.no_grad()
def from_run(model: nn.Module, folder: str) -> str:
    """Copy all weights that a run has under the same name, with or without a prefix "reader."."""
    run = Run.open(folder)
    path = run.model_path
    tensors, metadata = read_tensors(path)
    check(run, metadata)
    for name, own in kept(model).items():
        plain = name.removeprefix("reader.")
        found = tensors.get(name, tensors.get(plain, tensors.get(f"reader.{name}")))
        if found is not None and found.shape == own.shape:
            if not all_finite({name: found}):
                raise RunError(
                    f"{path}: {plain} holds numbers that are not finite; train that run again"
                )
            own.copy_(found)
        elif not plain.startswith(OWN):
            what = "it has none" if found is None else f"there it is {tuple(found.shape)}"
            raise RecipeError(
                f"{path}: {plain} is {tuple(own.shape)} in the recipe's model, {what}; "
                "leave such sizes out of the recipe to take the run's"
            )
    return f"The model starts from what {folder} has learned."
