"""The training loop: a generator of reports. The caller logs, validates, saves and stops."""

import hashlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from regard.data.batches import Indices, Order
from regard.data.stream import CarriedState
from regard.objectives import Loss
from regard.recipe import TrainSection
from regard.training.events import Position, StepReport
from regard.training.parallel import Gradients, whole
from regard.training.schedule import learning_rate
from regard.training.team import ALONE, Share, Team

Objective = Callable[[nn.Module, Any], Loss]


class Examples(Protocol):
    """The training examples, in batches of the rows that are asked for."""

    def batch(self, rows: Indices) -> Any: ...


@dataclass
class TrainingData:
    """Examples, the order of their batches, the team that shares them, and the number of slices
    that a batch is cut into where memory is short. A `carried_state` takes the states of a
    recurrent model from each batch to the next. `compares_rows`: the loss of a row depends on the
    others of its batch. `in_step`: all processes work on the same batch, since layers need
    statistics of its rows.
    """

    examples: Examples
    batches: Order
    team: Team = ALONE
    slices: int = 1
    carried_state: CarriedState | None = None
    compares_rows: bool = False
    in_step: bool = False

    def next(self, position: Position, count: int) -> tuple[list[Indices], Position]:
        """`count` batches from a position on, across the end of an epoch if necessary."""
        result = []
        epoch, index = position.epoch, position.index
        for _ in range(count):
            if index >= len(self.batches.epoch(epoch)):
                epoch, index = epoch + 1, 0
            result.append(self.batches.epoch(epoch)[index])
            index += 1
        if self.carried_state is not None:
            self.carried_state.forget_all_but(int(place) for rows in result for place in rows)
        return result, replace(position, epoch=epoch, index=index)

    def shares(self, batches: list[Indices]) -> list[Share]:
        """The parts of an update that this process computes, one after another."""
        # A carried state stays in the process that computed it, so batches are split by rows. Rows
        # that are compared are gathered by all processes, which then work on the same batch.
        whole = self.carried_state is None and not (self.compares_rows or self.in_step)
        shares = self.team.shares(batches, whole)
        if self.slices == 1:
            return shares
        return [each.part(i, self.slices) for each in shares for i in range(self.slices)]

    def batch(self, rows: Indices) -> Any:
        return self.examples.batch(rows)

    def labels(self, batches: list[Indices]) -> int:
        """The number of tokens or labels to predict."""
        return sum(map(self.batches.labels, batches))

    def tokens(self, batches: list[Indices]) -> int:
        return sum(map(self.batches.tokens, batches))

    def carried(self, position: Position) -> dict[str, Tensor]:
        """The states that the batch at a position starts from, gathered by all processes."""
        if self.carried_state is None:
            return {}
        rows = self.next(position, 1)[0][0]
        table = self.carried_state.table(rows[self.team.rank :: self.team.size].tolist())
        return self.team.gathered(table)


def derived_seed(*numbers: int) -> int:
    """One seed out of several numbers, the same on every machine."""
    text = " ".join(map(str, numbers)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


def training_steps(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    objective: Objective,
    data: TrainingData,
    train: TrainSection,
    seed: int,
    position: Position,
) -> Iterator[StepReport]:
    """Run updates from a position on, without end; each process of a team does its share of each.

    Each batch seeds dropout with (seed, update, batch of the update), so a resumed run draws the
    same numbers as an uninterrupted one, without any saved random state.
    """
    parameters = list(model.parameters())
    device = parameters[0].device
    team = data.team
    gradients = Gradients(model, objective, team)
    while True:
        started = time.perf_counter()
        batches, cursor = data.next(position, train.accumulate)
        step = position.step + 1
        position = replace(cursor, step=step)
        count = data.labels(batches)
        # DDP and FSDP take the mean over the team.
        scale = team.size / count
        shares = data.shares(batches)
        total = 0.0
        for share in shares:
            torch.manual_seed(derived_seed(seed, step, *share.place))
            batch = data.batch(share.rows).to(device)
            loss = gradients.add(batch, scale * share.counts, last=share is shares[-1])
            total += loss * share.counts
        total = team.sum(total)
        limit = train.clip_norm or math.inf
        norm = float(whole(nn.utils.clip_grad_norm_(parameters, limit, foreach=True)))
        rate = learning_rate(step, train)
        skipped = not (math.isfinite(total) and math.isfinite(norm))
        if not skipped:
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield StepReport(
            step=step,
            position=position,
            loss=total / count,
            learning_rate=rate,
            grad_norm=norm,
            tokens=data.tokens(batches),
            seconds=time.perf_counter() - started,
            skipped=skipped,
        )
