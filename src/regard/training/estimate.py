"""Estimates what training will take on this machine, from a few updates that are discarded."""

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from regard.configs.work import Work
from regard.data.batches import Indices
from regard.machine import devices
from regard.training.events import Estimate, Peak
from regard.training.fit import largest
from regard.training.loop import Objective, TrainingData
from regard.training.parallel import own

TRIAL_SECONDS = 4.0
# The arithmetic of the work of all batches.
Formula = Callable[[Work], float]


def estimate(
    model: nn.Module,
    objective: Objective,
    data: TrainingData,
    steps: int,
    accumulate: int,
    dtype: torch.dtype = torch.float32,
    formula: Formula | None = None,
) -> Estimate:
    """Measure time on ordinary batches, of which each process of a team computes its share, and
    memory on the largest batch, summed over the processes. The weights do not change. `dtype` is
    the type of the products.
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
        steps=steps,
        passes=steps * accumulate / len(batches),
        tokens_per_second=rate,
        seconds=steps * accumulate * epoch_tokens / len(batches) / rate,
        memory_bytes=int(data.team.sum(peak_memory(model) + moments)),
        peak=measured_peak(model, objective, data, dtype, formula),
    )


def measured_peak(
    model: nn.Module,
    objective: Objective,
    data: TrainingData,
    dtype: torch.dtype,
    formula: Formula | None = None,
) -> Peak:
    """Measure the FLOP/s that all devices of a team reach together in products alone."""
    rate = devices.gemm_rate(next(model.parameters()).device, dtype)
    return Peak(flops_per_token(model, objective, data, formula), data.team.sum(rate))


def flops_per_token(
    model: nn.Module, objective: Objective, data: TrainingData, formula: Formula | None = None
) -> float:
    """FLOP per token, without padding: by the task's formula, or else counted over one batch, for
    which PyTorch loads its compiler.
    """
    batches = data.batches
    if formula is None:
        return counted_flops(model, objective, data)
    return formula(Work(*batches.amounts())) / sum(map(batches.tokens, batches.epoch(0)))


def counted_flops(model: nn.Module, objective: Objective, data: TrainingData) -> float:
    """FLOP per token of the first batch, as PyTorch counts them."""
    from torch.utils.flop_counter import FlopCounterMode, conv_flop_count, sdpa_flop_count

    aten = torch.ops.aten
    # The counter does not know the operations of attention on a CPU, and counts too much of the
    # backward pass of convolutions in groups. There, the tenth argument after the shapes of the
    # gradient, the input and the weight says which gradients are needed.
    mended: dict[Any, Any] = {
        aten._scaled_dot_product_flash_attention_for_cpu: (
            lambda query, key, value, *_, **__: sdpa_flop_count(query, key, value)
        ),
        aten._scaled_dot_product_flash_attention_for_cpu_backward: (
            lambda gradient, query, key, value, *_, **__: 2 * sdpa_flop_count(query, key, value)
        ),
        aten.convolution_backward: (
            lambda gradient, x, weight, *more, **__: (
                sum(more[7][:2]) * conv_flop_count(x, weight, gradient)
            )
        ),
    }
    rows = data.batches.epoch(0)[0]
    with FlopCounterMode(display=False, custom_mapping=mended) as counter:
        attempt(model, objective, data, rows)
    return data.team.sum(counter.get_total_flops()) / max(1, data.batches.tokens(rows))


def attempt(
    model: nn.Module,
    objective: Objective,
    data: TrainingData,
    rows: Indices,
) -> tuple[int, float]:
    """Run one forward and backward pass; return the tokens of the batch and the seconds."""
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
    """Peak memory so far: of the graphics card if the model is there, else of this process."""
    if next(model.parameters()).device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
