"""What training will take on this machine, measured with a few updates that are thrown away."""

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.data.batch import Batch, batch_pairs
from regard.objectives import Loss
from regard.training.events import Estimate
from regard.training.loop import TrainingData

TRIAL_SECONDS = 4.0


def estimate(
    model: nn.Module,
    objective: Callable[[Any, Batch], Loss],
    data: TrainingData,
    steps: int,
    accumulate: int,
) -> Estimate:
    """Time from ordinary batches, memory from the largest. Nothing is learned."""
    batches = data.batches.epoch(0)
    lengths = data.batches.source_lengths, data.batches.target_lengths
    cells = [len(rows) * int(lengths[0][rows].max() + lengths[1][rows].max()) for rows in batches]
    attempt(model, objective, data, batches[int(np.argmax(cells))])
    tokens, seconds = 0, 0.0
    for rows in batches[:8]:
        count, took = attempt(model, objective, data, rows)
        tokens += count
        seconds += took
        if seconds > TRIAL_SECONDS:
            break
    epoch_tokens = int(lengths[0].sum(dtype=np.int64) + lengths[1].sum(dtype=np.int64))
    rate = tokens / seconds
    return Estimate(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        vocabulary=model.output.out_features,  # type: ignore[union-attr,arg-type]
        steps=steps,
        batches_per_epoch=len(batches),
        tokens_per_second=rate,
        seconds=steps * accumulate * epoch_tokens / len(batches) / rate,
        memory_bytes=peak_memory(model) + 8 * sum(p.numel() for p in model.parameters()),
    )


def attempt(
    model: nn.Module,
    objective: Callable[[Any, Batch], Loss],
    data: TrainingData,
    rows: np.ndarray[Any, np.dtype[np.int64]],
) -> tuple[int, float]:
    """Tokens and seconds of one forward and backward pass."""
    device = next(model.parameters()).device
    started = time.perf_counter()
    pairs = data.pairs
    batch = batch_pairs([pairs.source(i) for i in rows], [pairs.target(i) for i in rows])
    loss = objective(model, batch.to(device))
    (loss.total / loss.count).backward()
    model.zero_grad(set_to_none=True)
    if device.type == "cuda":
        torch.cuda.synchronize()
    return batch.tokens, time.perf_counter() - started


def peak_memory(model: nn.Module) -> int:
    """The most memory used so far: on the graphics card if the model is there, else here."""
    if next(model.parameters()).device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
