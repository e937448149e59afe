"""What training will take on this machine, measured with a few updates that are thrown away."""

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from regard import machine
from regard.data.batch import Batch
from regard.data.batches import Batches
from regard.objectives import Loss
from regard.plan import training_flops
from regard.training.events import Estimate, Peak
from regard.training.loop import TrainingData

TRIAL_SECONDS = 4.0


def estimate(
    model: nn.Module,
    objective: Callable[[Any, Batch], Loss],
    data: TrainingData,
    steps: int,
    accumulate: int,
    dtype: torch.dtype = torch.float32,
) -> Estimate:
    """Time from ordinary batches, memory from the largest, each process of a team with its share.
    Nothing is learned. `dtype` is that of the products.
    """
    batches = data.batches.epoch(0)
    lengths = data.batches.source_lengths, data.batches.target_lengths
    cells = [len(rows) * int(lengths[0][rows].max() + lengths[1][rows].max()) for rows in batches]
    attempt(model, objective, data, batches[int(np.argmax(cells))])
    tokens, seconds = 0, 0.0
    for rows in batches[:8]:
        count, took = attempt(model, objective, data, rows)
        tokens += count
        seconds += took
        if data.team.any(seconds > TRIAL_SECONDS):
            break
    epoch_tokens = int(lengths[0].sum(dtype=np.int64) + lengths[1].sum(dtype=np.int64))
    rate = tokens / seconds
    return Estimate(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        vocabulary=model.output.out_features,  # type: ignore[union-attr,arg-type]
        steps=steps,
        passes=steps * accumulate / len(batches),
        tokens_per_second=rate,
        seconds=steps * accumulate * epoch_tokens / len(batches) / rate,
        memory_bytes=peak_memory(model) + 8 * sum(p.numel() for p in model.parameters()),
        peak=measured_peak(model, data, dtype),
    )


def measured_peak(model: nn.Module, data: TrainingData, dtype: torch.dtype) -> Peak:
    """Of all devices of a team together."""
    rate = machine.gemm_rate(next(model.parameters()).device, dtype)
    return Peak(flops_per_token(model, data.batches), data.team.sum(rate))


def flops_per_token(model: nn.Module, batches: Batches) -> float:
    """Over all pairs, padding not counted; a token of a long sentence attends to more."""
    source, target = (
        np.bincount(lengths) for lengths in (batches.source_lengths, batches.target_lengths)
    )
    tokens = [float(np.arange(len(counts)) @ counts) for counts in (source, target)]
    squares = [float(np.arange(len(counts)) ** 2 @ counts) for counts in (source, target)]
    flops = training_flops(
        model.config,  # type: ignore[arg-type]
        model.output.out_features,  # type: ignore[union-attr,arg-type]
        *tokens,
        *(square / token for square, token in zip(squares, tokens, strict=True)),
    )
    return flops / sum(tokens)


def attempt(
    model: nn.Module,
    objective: Callable[[Any, Batch], Loss],
    data: TrainingData,
    rows: np.ndarray[Any, np.dtype[np.int64]],
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
