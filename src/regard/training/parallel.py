"""Gradients of a model that several processes train: PyTorch's DDP, or FSDP2 where the weights,
gradients and moments of a model do not fit one device. FSDP takes seconds to load, so it is loaded
when a model is sharded.
"""

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeGuard

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from regard.layers.batch_norm import rows_counted
from regard.training.team import Team
from regard.weights import buffers, kept

if TYPE_CHECKING:
    from torch.distributed.fsdp import FSDPModule
    from torch.distributed.tensor import DTensor


def is_sharded(model: object) -> "TypeGuard[FSDPModule]":
    fsdp = sys.modules.get("torch.distributed.fsdp")
    return fsdp is not None and isinstance(model, fsdp.FSDPModule)


def is_shard(tensor: Tensor) -> "TypeGuard[DTensor]":
    distributed = sys.modules.get("torch.distributed.tensor")
    return distributed is not None and isinstance(tensor, distributed.DTensor)


class Gradients:
    """Adds up the gradients of an update's batches; the last one is summed over all processes."""

    def __init__(self, model: nn.Module, objective: Any, team: Team) -> None:
        self.loss: nn.Module = WithObjective(model, objective)
        self.together: Any = None
        if is_sharded(model):
            self.together = model
        elif team.size > 1:
            # Buffers that are not saved are tables, which each process computes for itself and
            # lengthens if necessary.
            saved = {f"model.{name}" for name in buffers(model)}
            DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(
                self.loss, [name for name, _ in self.loss.named_buffers() if name not in saved]
            )
            self.loss = self.together = DistributedDataParallel(
                self.loss, gradient_as_bucket_view=True
            )

    def add(self, batch: Any, scale: float, last: bool) -> float:
        """Add `scale` times the gradient of a batch; return its loss."""
        waiting: AbstractContextManager[Any] = nullcontext()
        if is_sharded(self.together):
            self.together.set_requires_gradient_sync(last)
        elif self.together is not None and not last:
            waiting = self.together.no_sync()
        with waiting, rows_counted(scale > 0):
            total: Tensor = self.loss(batch)
            (total * scale).backward()
        return float(total.detach())


class WithObjective(nn.Module):
    """A model and its objective as one module, which DDP can wrap."""

    def __init__(self, model: nn.Module, objective: Any) -> None:
        super().__init__()
        self.model = model
        self.objective = objective

    def forward(self, batch: Any) -> Tensor:
        total: Tensor = self.objective(self.model, batch).total
        return total


def shard(model: nn.Module) -> None:
    """Shard a model over the processes; each block of a stack is gathered when it is needed."""
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    for stack in [each for each in model.children() if isinstance(each, nn.ModuleList)]:
        for block in stack:
            fully_shard(block)
    fully_shard(model)
    for name in ("features", "continued"):
        if hasattr(model, name):
            register_fsdp_forward_method(model, name)


def whole(tensor: Tensor) -> Tensor:
    """The full tensor. All processes of a team must call this together."""
    return tensor.full_tensor() if is_shard(tensor) else tensor


def own(tensor: Tensor) -> Tensor:
    """The shard of a tensor that this process holds."""
    return tensor.to_local() if is_shard(tensor) else tensor


def distribute_like(tensor: Tensor, like: Tensor) -> Tensor:
    """A copy on the device of another tensor, and sharded as that one is."""
    tensor = tensor.to(like.device, copy=True)
    if is_shard(like):
        from torch.distributed.tensor import distribute_tensor

        # Each process has the full tensor already and keeps its shard without communication.
        return distribute_tensor(tensor, like.device_mesh, like.placements, src_data_rank=None)
    return tensor


@torch.no_grad()
def copy_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in kept(model).items():
        tensor.copy_(distribute_like(tensors[name], tensor))
