"""Estimates what training will take on this machine, from a few updates that are discarded."""

import resource
import sys
import time
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


def estimate(
    model: nn.Module,
    objective: Objective,
    data: TrainingData,
    steps: int,
    accumulate: int,
    dtype: torch.dtype = torch.float32,
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
        peak=measured_peak(model, objective, data, dtype),
    )


def measured_peak(
    model: nn.Module, objective: Objective, data: TrainingData, dtype: torch.dtype
) -> Peak:
    """Measure the FLOP/s that all devices of a team reach together in products alone."""
    rate = devices.gemm_rate(next(model.parameters()).device, dtype)
    return Peak(flops_per_token(model, objective, data), data.team.sum(rate))


def flops_per_token(model: nn.Module, objective: Objective, data: TrainingData) -> float:
    """FLOP per token, without padding: by the formula of the model's config, or else counted over
    one batch.
    """
    batches = data.batches
    config: Any = getattr(model, "config", None)
    output = getattr(model, "output", None)
    if hasattr(config, "training_flops") and isinstance(output, nn.Linear):
        flops = config.training_flops(output.out_features, Work(*batches.amounts()))
        return float(flops / sum(map(batches.tokens, batches.epoch(0))))
    return counted_flops(model, objective, data)


def counted_flops(model: nn.Module, objective: Objective, data: TrainingData) -> float:
    """FLOP per token of the first batch, as PyTorch counts them."""
    from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

    # The counter does not know the operations of attention on a CPU.
    on_cpu = {
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: (
            lambda query, key, value, *_, **__: sdpa_flop_count(query, key, value)
        ),
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: (
            lambda gradient, query, key, value, *_, **__: 2 * sdpa_flop_count(query, key, value)
        ),
    }
    rows = data.batches.epoch(0)[0]
    with FlopCounterMode(display=False, custom_mapping=on_cpu) as counter:
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
