"""A training contender: whole updates, as its user would write them, one window at a time.

A contender is an endless generator that yields the number of real tokens of each update.
"""

import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import nn

from benchmarks.process import Message, Replies, give_back_memory, peak_memory_bytes
from benchmarks.workload import TRAIN, Workload
from regard import objectives
from regard.machine import memory
from regard.machine.devices import CPU
from regard.models.transformer import Transformer
from regard.text.tokenizer import PAD
from regard.training.events import Position
from regard.training.loop import TrainingData, training_steps
from regard.training.optimizer import build_optimizer
from regard.training.precision import in_precision
from regard.training.team import ALONE, Team, assembled

Updates = Iterator[int]
GEMM_WIDTH = 2048


def regard_updates(
    workload: Workload, size: str, members: Team, precision: str = "float32"
) -> Updates:
    """What `regard train` runs, alone or in a team of processes."""
    memory.keep_big_buffers()
    model = workload.first_model(size).train()
    smoothed = partial(objectives.translation, label_smoothing=TRAIN.label_smoothing)
    objective = in_precision(smoothed, CPU, getattr(torch, precision))
    optimizer, data = build_optimizer(model, TRAIN), workload.data(members)
    for report in training_steps(model, optimizer, objective, data, TRAIN, 1, Position()):
        yield report.tokens


def plain_updates(model: nn.Module, data: TrainingData, precision: str) -> Updates:
    """The loop that a careful user of another library writes, with autocast in bfloat16."""
    from benchmarks.peers import logits_of

    optimizer = torch.optim.Adam(
        model.parameters(),
        lr=TRAIN.learning_rate,
        betas=TRAIN.adam_betas,
        eps=TRAIN.adam_epsilon,
        fused=True,
    )
    loss_of = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=TRAIN.label_smoothing)
    position = Position()
    while True:
        (rows,), position = data.next(position, 1)
        batch = data.batch(rows)
        optimizer.zero_grad()
        mixed = precision == "bfloat16"
        with torch.autocast("cpu", torch.bfloat16) if mixed else nullcontext():
            logits = logits_of(model, batch)
            loss = loss_of(logits.flatten(0, 1).float(), batch.labels.flatten())
        loss.backward()
        optimizer.step()
        yield batch.tokens


def products() -> Updates:
    """Large float32 products: no contender, but the highest speed that any could reach."""
    a, b, c = torch.randn(3, GEMM_WIDTH, GEMM_WIDTH)
    while True:
        torch.mm(a, b, out=c)
        yield 2 * GEMM_WIDTH**3


def peer(kind: str, ours: Transformer, data: TrainingData) -> tuple[nn.Module, float]:
    """Another library's model with our weights, and how far its logits are from ours."""
    from benchmarks import peers

    build: Callable[[Transformer], nn.Module] = {
        "hugging-face": peers.hugging_face,
        "torch": peers.TorchTransformer,
    }[kind]
    theirs = build(ours)
    # One sentence from each of several batches, so that lengths differ and the masks matter.
    batches, _ = data.next(Position(), 8)
    rows = np.array([batch[0] for batch in batches])
    return theirs, peers.logit_difference(ours, theirs, data.batch(rows))


def begin(job: Message, members: Team) -> tuple[Updates, float]:
    """The contender that a job names, and how far its logits are from ours."""
    torch.set_num_threads(job["threads"])
    if job["kind"] == "gemm":
        return products(), 0.0
    workload = Workload(Path(job["folder"]))
    if job["kind"] == "regard":
        return regard_updates(workload, job["size"], members, job.get("precision", "float32")), 0.0
    data = workload.data(ALONE)
    theirs, difference = peer(job["kind"], workload.first_model(job["size"]), data)
    return plain_updates(theirs.train(), data, job.get("precision", "float32")), difference


def lead(replies: Replies, updates: Updates, difference: float, members: Team) -> None:
    """Answer until there are no more requests."""

    def window(request: Message) -> Message:
        members.from_leader(1 + request["updates"])
        next(updates)  # allocates the memory that was given back, and is not timed
        started = time.perf_counter()
        work = sum(islice(updates, request["updates"]))
        seconds = time.perf_counter() - started
        return {"work": work, "seconds": seconds, "memory_bytes": peak_memory_bytes()}

    replies.serve({"difference": difference, **window({"updates": 1})}, window)
    members.from_leader(0)


def follow(updates: Updates, members: Team) -> None:
    """Run as many updates as the leader says. If a process ran until it had to wait, it would take
    time from another contender's window.
    """
    while count := int(members.from_leader(0)):
        deque(islice(updates, count), maxlen=0)
        give_back_memory()


def main() -> None:
    replies = Replies()
    job = json.loads(sys.argv[1])
    command = [sys.executable, "-m", "benchmarks.updates", sys.argv[1]]
    with assembled(command, job["processes"]) as members:
        updates, difference = begin(job, members)
        if members.leads:
            lead(replies, updates, difference, members)
        else:
            follow(updates, members)


if __name__ == "__main__":
    main()
