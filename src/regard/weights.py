"""Weights of a model: which tensors are kept of it, and their way to files and back.

The files are those of `regard.files`, which knows them as arrays and does not need PyTorch.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor, nn

from regard import files
from regard.errors import RunError


def kept(model: nn.Module) -> dict[str, Tensor]:
    """What has to be saved of a model, by name: its parameters and its persistent buffers; tied
    ones once.
    """
    return {**dict(model.named_parameters()), **buffers(model)}


def buffers(model: nn.Module) -> dict[str, Tensor]:
    """The persistent buffers of a model by name. Others follow from a formula."""
    persistent = model.state_dict(keep_vars=True).keys()
    return {name: buffer for name, buffer in model.named_buffers() if name in persistent}


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers by name; tied ones once."""
    return {name: tensor.detach() for name, tensor in kept(model).items()}


def check_weights(model: nn.Module, tensors: Mapping[str, Tensor], where: Path | str) -> None:
    """Exactly the tensors of a model are accepted; anything else is refused."""
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
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise RunError(f"{where}: {name} holds numbers that are not finite")


@torch.no_grad()
def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], where: Path | str) -> None:
    check_weights(model, tensors, where)
    for name, own in kept(model).items():
        own.copy_(tensors[name])


def digest(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    """The checksum that a file of these tensors would have."""
    return files.digest(as_arrays(tensors), metadata)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """A safetensors file that knows its own checksum."""
    files.write_arrays(path, as_arrays(tensors), metadata)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata, checked against the checksum; anything else is a one-line RunError."""
    arrays, metadata = files.read_arrays(path)
    return {name: torch.from_numpy(array) for name, array in arrays.items()}, metadata


def as_arrays(tensors: Mapping[str, Tensor]) -> dict[str, npt.NDArray[Any]]:
    """The same numbers in the same memory, where a tensor is on the CPU and in order."""
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}
