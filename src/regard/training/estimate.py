"""What training will take on this machine, measured with a few updates that are thrown away."""

import resource
import sys
import time

import torch
from torch import nn

from regard.data.batches import Indices, Order
from regard.machine import devices
from regard.training.events import Estimate, Peak
from regard.training.fit import largest
from regard.training.loop import Objective, TrainingData
from regard.training.parallel import own
from regard.work import training_flops

TRIAL_SECONDS = 4.0


def estimate(
    model: nn.Module,
    objective: Objective,
    data: TrainingData,
    steps: int,
    accumulate: int,
    dtype: torch.dtype = torch.float32,
) -> Estimate:
    """Time from ordinary batches, each process of a team with its share; memory from the largest,
    of all processes together. Nothing is learned. `dtype` is that of the products.
    """
    batches = data.batches.epoch(0)
    attempt(model, objective, data, largest(data))
    tokens, seconds = 0, 0.0
    for rows in batches[:8]:
        count, took = attempt(model, objective, data, rows)
        tokens += count
        seconds += took
        if data.team.any(seconds > TRIAL_SECONDS):
            break
    epoch_tokens = data.tokens(batches)
    rate = tokens / seconds
    moments = 8 * sum(own(parameter).numel() for parameter in model.parameters())
    return Estimate(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        vocabulary=model.output.out_features,  # type: ignore[union-attr,arg-type]
        steps=steps,
        passes=steps * accumulate / len(batches),
        tokens_per_second=rate,
        seconds=steps * accumulate * epoch_tokens / len(batches) / rate,
        memory_bytes=int(data.team.sum(peak_memory(model) + moments)),
        peak=measured_peak(model, data, dtype),
    )


def measured_peak(model: nn.Module, data: TrainingData, dtype: torch.dtype) -> Peak:
    """Of all devices of a team together."""
    rate = devices.gemm_rate(next(model.parameters()).device, dtype)
    return Peak(flops_per_token(model, data.batches), data.team.sum(rate))


def flops_per_token(model: nn.Module, batches: Order) -> float:
    """Over all examples, padding not counted."""
    amounts = batches.amounts()
    flops = training_flops(
        model.config,  # type: ignore[arg-type]
        model.output.out_features,  # type: ignore[union-attr,arg-type]
        *amounts,
    )
    return float(flops / sum(map(batches.tokens, batches.epoch(0))))


def attempt(
    model: nn.Module,
    objective: Objective,
    data: TrainingData,
    rows: Indices,
) -> tuple[int, float]:
    """Tokens of a batch, and the seconds of one forward and backward pass of it."""
    device = next(model.parameters()).device
    started = time.perf_counter()
    for share in data.shares([rows]):
        loss = objective(model, data.batch(share.rows).to(device))
        (loss.total / loss.count).backward()
    model.zero_grad(set_to_none=True)
    if device.type == "cuda":
        torch.cuda.synchronize()
    return data.tokens([rows]), time.perf_counter() - started


def peak_memory(model: nn.Module) -> int:
    """The most memory used so far: on the graphics card if the model is there, else here."""
    if next(model.parameters()).device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
