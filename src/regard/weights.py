"""Weights of a model: which tensors are saved, and how a run folder stores and loads them.

`regard.files` writes and reads them as arrays, without PyTorch. Sizes that depend on the data
(vocabularies, labels) are in the metadata of the weights.
"""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard import files, tasks
from regard.configs.parameters import num_parameters
from regard.errors import RunError
from regard.files import HEADER_BYTES
from regard.made_with import MadeWith, check
from regard.recipe import Recipe
from regard.run import Run
from regard.sizes import read_sizes
from regard.small_files import parse_json, refusing

Sizes = Mapping[str, int]
NUMBER_BYTES = 4  # of a weight in a file
DRAWING = {
    *(nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_, nn.init.constant_),
    *(Tensor.normal_, Tensor.uniform_, Tensor.zero_, Tensor.fill_),
}


def kept(model: nn.Module) -> dict[str, Tensor]:
    """The tensors of a model that are saved, by name: its parameters and its persistent buffers;
    tied ones once.
    """
    return {**dict(model.named_parameters()), **buffers(model)}


def buffers(model: nn.Module) -> dict[str, Tensor]:
    """The persistent buffers of a model by name. Others are computed by a formula."""
    persistent = model.state_dict(keep_vars=True).keys()
    return {name: buffer for name, buffer in model.named_buffers() if name in persistent}


@contextmanager
def unchanged_buffers(model: nn.Module) -> Iterator[None]:
    """Restore the model's buffers after the block, which only tries batches."""
    before = {name: buffer.clone() for name, buffer in buffers(model).items()}
    yield
    for name, buffer in buffers(model).items():
        buffer.copy_(before[name])


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers by name, detached; tied ones once."""
    return {name: tensor.detach() for name, tensor in kept(model).items()}


def check_weights(model: nn.Module, tensors: Mapping[str, Tensor], where: Path | str) -> None:
    """Accept exactly the tensors of a model, and refuse anything else."""
    expected = kept(model)
    if missing := sorted(expected.keys() ^ tensors.keys()):
        raise RunError(f"{where}: not the weights of this model (differs in {missing[0]})")
    for name, own in expected.items():
        tensor = tensors[name]
        if tensor.shape != own.shape or tensor.dtype != own.dtype:
            raise RunError(
                f"{where}: {name} is {tuple(tensor.shape)} of {tensor.dtype}, "
                f"the model has {tuple(own.shape)} of {own.dtype}"
            )
        if not all_finite({name: tensor}):
            raise RunError(f"{where}: {name} holds numbers that are not finite")


def all_finite(tensors: Mapping[str, Tensor]) -> bool:
    """Whether no number is infinite or no number at all."""
    floats = (each for each in tensors.values() if each.is_floating_point())
    return all(bool(torch.isfinite(each).all()) for each in floats)


@torch.no_grad()
def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], where: Path | str) -> None:
    check_weights(model, tensors, where)
    for name, own in kept(model).items():
        own.copy_(tensors[name])


def digest(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    """The checksum that a file of these tensors would have."""
    return files.digest(as_arrays(tensors), metadata)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write a safetensors file with a checksum of its content."""
    files.write_arrays(path, as_arrays(tensors), metadata)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata, checked against the checksum; a failure is a one-line RunError."""
    arrays, metadata = files.read_arrays(path)
    return {name: torch.from_numpy(array) for name, array in arrays.items()}, metadata


def as_arrays(tensors: Mapping[str, Tensor]) -> dict[str, npt.NDArray[Any]]:
    """The tensors as arrays, in the same memory where a tensor is contiguous and on the CPU."""
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}


class ShapesOnly(TorchFunctionMode):
    """Skips the initialisation of weights that have no memory. PyTorch would do that with its
    compiler, which takes longer to load than all the rest.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in DRAWING:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def build(recipe: Recipe, sizes: Sizes) -> nn.Module:
    """A fresh model for a recipe."""
    return tasks.get(recipe.task).build(recipe, sizes)


def without_memory(recipe: Recipe, sizes: Sizes) -> nn.Module:
    """The model of a recipe with shapes but no numbers."""
    with torch.device("meta"), ShapesOnly():
        return build(recipe, sizes)


def save_model(
    run: Run,
    tensors: Mapping[str, Tensor],
    step: int,
    sizes: Sizes,
    made_with: MadeWith | None = None,
    validation: Mapping[str, float | None] | None = None,
) -> None:
    """Save the weights that a run answers with, what they were made with, and their scores on the
    validation set.
    """
    about = {"step": str(step), "sizes": json.dumps(dict(sizes), sort_keys=True)}
    if validation is not None:
        finite = {n: v for n, v in validation.items() if v is not None and math.isfinite(v)}
        about["validation"] = json.dumps(finite, sort_keys=True)
    write_tensors(run.model_path, tensors, about | (made_with.metadata() if made_with else {}))


def saved_sizes(run: Run, metadata: Mapping[str, str]) -> Sizes:
    """The sizes in the weights' metadata. Runs of the first version store them elsewhere."""
    if "sizes" in metadata:
        return read_sizes(run.model_path)
    return tasks.get(run.task_name()).sizes_of_old_run(run)


def load_model(run: Run) -> nn.Module:
    """The model of a run with its best weights, ready to answer."""
    path = run.model_path
    run.require_weights()
    metadata = files.read_metadata(path)
    check(run, metadata)
    recipe, sizes = run.recipe(), saved_sizes(run, metadata)
    found = path.stat().st_size
    try:
        # Sizes are compared before memory is allocated: a recipe may claim any size. A formula
        # answers at once where building hundreds of layers, even without numbers, takes a second.
        expected = NUMBER_BYTES * num_parameters(recipe, sizes)
        if expected <= found:
            tensors = kept(without_memory(recipe, sizes)).values()
            expected = sum(each.numel() * each.element_size() for each in tensors)
    except KeyError as error:
        raise RunError(f"{path}: damaged (its metadata has no size {error})") from None
    except (ValueError, RuntimeError, OverflowError) as error:
        raise RunError(f"{run.recipe_path}: no such model can be built ({error})") from None
    if not expected <= found <= expected + HEADER_BYTES:
        raise RunError(
            f"{path}: {found} bytes, the recipe's model has {expected}; "
            "one of the two files is from another run"
        )
    intact, _ = read_tensors(path)  # from here on, its sizes are as they were written
    model = build(recipe, sizes)
    load_weights(model, intact, path)
    return model.eval()


def save_checkpoint(
    run: Run,
    step: int,
    tensors: Mapping[str, Tensor],
    progress: Mapping[str, Any],
    made_with: MadeWith | None = None,
) -> Path:
    path = run.checkpoint_path(step)
    about = {"progress": json.dumps(progress), "step": str(step)}
    write_tensors(path, tensors, about | (made_with.metadata() if made_with else {}))
    return path


def load_checkpoint(run: Run, path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    tensors, metadata = read_tensors(path)
    with refusing(RunError(f"{path}: not a checkpoint")):
        step, progress = int(metadata["step"]), parse_json(metadata["progress"])
    if run.checkpoint_path(step) != path:
        raise RunError(f"{path}: holds step {step}, not the one in its name")
    return tensors, progress
