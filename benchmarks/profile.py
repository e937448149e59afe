"""Where the time of an update goes: PyTorch's profiler, with its operations in a few groups."""

import os
import re
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.sizes import SIZES
from benchmarks.summary import markdown
from benchmarks.updates import regard_updates
from benchmarks.workload import Workload
from regard.training.team import ALONE

# An operation belongs to the first group whose pattern is in its own name, or else in the name of
# an operation that contains it: a product inside the loss counts as a product, a random number as
# dropout.
OWN = {
    "products": r"^aten::(mm|addmm|bmm|baddbmm|addbmm|_?linear|mkldnn_linear)",
    "attention": r"scaled_dot_product|flash_attention",
    "norm": r"layer_norm|rms_norm",
}
PART_OF = {
    "optimizer": r"Optimizer|_foreach|_fused_adam|clip_grad|zero_grad",
    "dropout": r"(?i)dropout|bernoulli|random_",
    "softmax and loss": r"(?i)cross_?entropy|softmax|nll_loss|logsumexp",
    "attention": r"(?i)attention",
    "norm": r"(?i)norm(alisation)?(backward)?$",
    "activation": r"(?i)relu|gelu|silu|threshold_backward",
    "embedding": r"(?i)embedding|index_select",
    "additions and copies": r"^aten::(add_?|sum|sub_?|rsub|_to_copy|copy_)$|AccumulateGrad",
}
REST, PYTHON = "other operations", "Python and waiting"


def measure(size: str, folder: Path, updates: int, threads: int) -> dict[str, Any]:
    """The seconds of an update without the profiler, and the shares that the profiler measures."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "5")  # otherwise it logs its own progress
    torch.set_num_threads(threads)
    steps = regard_updates(Workload(folder), size, ALONE)
    for _ in islice(steps, 3):
        pass
    started = time.perf_counter()
    tokens = sum(islice(steps, updates))
    plain = time.perf_counter() - started
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as found:
        started = time.perf_counter()
        sum(islice(steps, updates))
        watched = time.perf_counter() - started
    groups: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for event in found.events():
        groups[group(lineage(event))] += event.self_cpu_time_total
        names[event.name] += event.self_cpu_time_total
    groups[PYTHON] = max(0.0, 1e6 * watched - sum(groups.values()))
    return {
        "size": size,
        "threads": threads,
        "updates": updates,
        "tokens_per_second": tokens / plain,
        "seconds": plain / updates,
        "watched_seconds": watched / updates,
        "groups": dict(groups.most_common()),
        "operations": dict(names.most_common(12)),
    }


def lineage(event: Any) -> list[str]:
    """The names of an operation and of the operations that contain it, the nearest first."""
    names = []
    while event is not None:
        names.append(event.name)
        event = event.cpu_parent
    return names


def group(names: list[str]) -> str:
    for kind, pattern in OWN.items():
        if re.search(pattern, names[0]):
            return kind
    for kind, pattern in PART_OF.items():
        if any(re.search(pattern, name) for name in names):
            return kind
    return REST


def table(result: dict[str, Any]) -> str:
    config = SIZES[result["size"]]
    total = sum(result["groups"].values())
    rows = [
        [kind, f"{1000 * result['seconds'] * part / total:.1f}", f"{part / total:.1%}"]
        for kind, part in result["groups"].items()
    ]
    slow = result["watched_seconds"] / result["seconds"]
    operations = ", ".join(
        f"`{name}` {part / total:.1%}" for name, part in result["operations"].items()
    )
    return (
        f"**{result['size']}**: d_model {config.d_model}, d_ff {config.d_ff}, "
        f"{config.encoder_layers} + {config.decoder_layers} layers; "
        f"{result['updates']} updates on {result['threads']} thread(s), "
        f"{1000 * result['seconds']:.0f} ms each, "
        f"{result['tokens_per_second']:,.0f} tokens/s. Shares are the profiler's, which made it "
        f"{slow:.2f} times as slow.\n\n"
        + markdown(["", "ms an update", "share"], rows)
        + f"\n\nOperations: {operations}."
    )
