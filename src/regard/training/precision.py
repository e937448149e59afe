"""The type in which a training computes: weights, moments and what is saved are always float32.

On a CPU with products of bfloat16, "auto" measures a few batches of the recipe in both types, since
not every model gains. Its choice is part of a checkpoint, so a resumed run computes as before.
"""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from regard.layers.precision import computing_in
from regard.machine import devices
from regard.objectives import Loss
from regard.recipe import TrainSection
from regard.training.estimate import attempt
from regard.training.loop import Objective, TrainingData
from regard.training.parallel import is_sharded

# A training that is shorter in float32 is over before a comparison has paid off.
SHORTEST_SECONDS = 60.0
# Below this gain a type with fewer digits is not worth it, and chance would decide.
LEAST_GAIN = 1.1
TRIED_BATCHES, TRIAL_SECONDS = 4, 8.0


def in_precision(objective: Objective, device: torch.device, dtype: torch.dtype) -> Objective:
    """The task's objective, computed in a type: on a CPU as `regard.layers.precision` says, since
    PyTorch's autocast costs a narrow model there more than it saves, and elsewhere by autocast.
    """

    def mixed(model: Any, batch: Any) -> Loss:
        cpu = device.type == "cpu"
        with computing_in(dtype) if cpu else torch.autocast(device.type, dtype=dtype):
            return objective(model, batch)

    return objective if dtype == torch.float32 else mixed


def choose(
    train: TrainSection,
    model: nn.Module,
    objective: Objective,
    data: TrainingData,
    before: str | None,
) -> tuple[torch.dtype, str]:
    """The type to train in, and a remark or "". `before` is the type that the run was trained in
    so far. All processes of a team call this together, and choose alike.
    """
    device = next(model.parameters()).device
    if train.precision != "auto" or device.type != "cpu" or is_sharded(model):
        return devices.choose_precision(train.precision, device), ""
    if before is not None:
        narrow = before == "bfloat16" and from_leader(data, devices.bfloat16_runs)
        return (torch.bfloat16 if narrow else torch.float32), ""
    gain = gain_in_bfloat16(train, model, objective, data)
    if gain < LEAST_GAIN:
        return torch.float32, ""
    return torch.bfloat16, (
        f"Products are computed in bfloat16, which makes an update {gain:.1f} × as fast here; "
        "train.precision=float32 turns this off"
    )


def gain_in_bfloat16(
    train: TrainSection, model: nn.Module, objective: Objective, data: TrainingData
) -> float:
    """How many times as fast the batches of an update are; 0 where bfloat16 is not safe, or where
    the training is too short to gain from it.
    """
    if not from_leader(data, devices.claims_bfloat16):
        return 0.0
    batches = data.batches.epoch(0)[:TRIED_BATCHES]
    attempt(model, objective, data, batches[0])
    _, seconds = attempt(model, objective, data, batches[0])
    if data.team.from_leader(seconds) * train.steps * train.accumulate < SHORTEST_SECONDS:
        return 0.0
    if not from_leader(data, devices.bfloat16_runs):
        return 0.0
    narrow = in_precision(objective, devices.CPU, torch.bfloat16)
    sums, until = [0.0, 0.0], time.perf_counter() + TRIAL_SECONDS
    for rows in batches:
        for number, each in enumerate((objective, narrow)):
            try:
                # The first pass is not counted: libraries prepare themselves for new shapes.
                passes = [attempt(model, each, data, rows)[1] for _ in range(3)]
            except RuntimeError:
                return 0.0  # a layer that somebody has written accepts only one type
            sums[number] += min(passes[1:])
        if data.team.any(time.perf_counter() > until):
            break
    return data.team.from_leader(sums[0] / sums[1])


def from_leader(data: TrainingData, question: Callable[[], bool]) -> bool:
    """The answer of the leader alone: it may cost seconds, and all need the same."""
    return bool(data.team.from_leader(data.team.leads and question()))
