"""Cuts batches into slices where memory is short: a batch too large for it would end the run."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.batches import Indices
from regard.errors import RunError
from regard.machine import memory
from regard.training.loop import Objective, TrainingData
from regard.training.parallel import is_sharded

# The share of the free memory that training may take; other programs need some, too.
SHARE = 0.8
# Temporary buffers need memory beside the activations that are kept for the backward pass.
WORKSPACE = 1.5
# The weights are allocated; gradients, two moments and copies for validation still need memory.
BYTES_PER_PARAMETER = 20
SAMPLE_ROWS = 2


def slices_that_fit(model: nn.Module, objective: Objective, data: TrainingData) -> int:
    """The number of slices to cut the largest batch into, measured on a few of its rows."""
    device = next(model.parameters()).device
    free = free_memory(device)
    if free is None:
        return 1
    room = SHARE * free / (data.team.local_size if device.type == "cpu" else 1)
    shards = data.team.size if is_sharded(model) else 1
    room -= BYTES_PER_PARAMETER * sum(p.numel() for p in model.parameters()) / shards
    if room <= 0:
        raise RunError(
            f"memory: {free / 1e9:.1f} GB free, not enough for the weights, gradients and moments "
            "of this model; choose a smaller one, or spread it with train.parallel=fsdp"
        )
    rows = data.team.shares([largest(data)])[0].rows
    sample = rows[np.argsort(-data.batches.lengths(rows))[:SAMPLE_ROWS]]
    each = kept_bytes(model, objective, data, sample) / len(sample)
    wanted = math.ceil(WORKSPACE * each * len(rows) / room)
    if data.compares_rows and data.team.any(wanted > 1):
        raise RunError(
            f"memory: {free / 1e9:.1f} GB free, not enough for a batch of {len(rows):,}, whose "
            f"rows are compared with each other; set a smaller train.batch_size"
        )
    return int(data.team.from_leader(min(wanted, len(rows))))


def largest(data: TrainingData) -> Indices:
    """The batch with the most cells, padding included."""
    return max(data.batches.epoch(0), key=data.batches.cells)


def kept_bytes(model: nn.Module, objective: Objective, data: TrainingData, rows: Indices) -> int:
    """Bytes that a forward pass keeps for the backward pass."""
    device = next(model.parameters()).device
    own = {parameter.data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        loss = objective(model, data.batch(rows).to(device))
    # FSDP keeps its outermost weights gathered from a forward pass to the next backward pass, and
    # gathered weights are not the parameters that receive the gradients.
    loss.total.backward()
    model.zero_grad(set_to_none=True)
    return sum(kept.values())


def free_memory(device: torch.device) -> int | None:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return memory.free_memory()
