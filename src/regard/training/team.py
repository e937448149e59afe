"""The processes that train one model together; a single process is a team of one.

An update is the same whatever the size of the team: its batches are shared out whole when they
divide evenly, else each process takes every size-th row of each. PyTorch adds up the gradients; a
team of one loads nothing of it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from regard.data.batches import Indices
from regard.errors import RunError
from regard.machine import cores
from regard.recipe import TrainSection

if TYPE_CHECKING:
    import torch

# The others wait while the leader prepares the data and validates.
PATIENCE = timedelta(hours=12)
# Whether this process has been in a process group.
has_joined = False
STORE = "REGARD_STORE"
# The beginning of the names of files that say which processes wait for the leader.
READY = "ready-"
# Below these a second process costs more than it gains: target tokens of an update for each
# process, and updates of the run, since a process takes seconds to start.
WORTHWHILE_TOKENS, WORTHWHILE_STEPS = 500, 500


@dataclass(frozen=True)
class Share:
    """Rows that go through the model together: a batch of an update, or a part of one."""

    place: tuple[int, ...]  # which batch, which part of it, which part of that; seeds the dropout
    rows: Indices
    counts: bool = True  # False where rows were too few and a process only joins in the sums

    def part(self, index: int, count: int) -> "Share":
        """Every count-th row, from the row at `index` on."""
        rows = self.rows[index::count]
        if not len(rows):
            return Share((*self.place, index), self.rows[:1], counts=False)
        return Share((*self.place, index), rows, self.counts)


@dataclass(frozen=True)
class Team:
    rank: int = 0
    size: int = 1
    # The rank among the processes of this machine, and how many of them share its cores.
    local_rank: int = 0
    local_size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process is the leader, which reports, validates and writes."""
        return self.rank == 0

    def shares(self, batches: Sequence[Indices], whole: bool = True) -> list[Share]:
        """This process's part of an update. A batch that is not split draws the same dropout
        wherever it is computed.
        """
        all_shares = [Share((number,), rows) for number, rows in enumerate(batches)]
        if self.size == 1 or (whole and len(batches) % self.size == 0):
            return all_shares[self.rank :: self.size]
        return [each.part(self.rank, self.size) for each in all_shares]

    def sum(self, number: float) -> float:
        """The sum over all processes, with the same bits in each."""
        if self.size == 1:
            return number
        import torch
        import torch.distributed as dist

        tensor = torch.tensor([number], dtype=torch.float64)
        dist.all_reduce(tensor)
        return float(tensor)

    def gathered(self, table: "dict[str, torch.Tensor]") -> "dict[str, torch.Tensor]":
        """The rows of all processes one after another, where a process may have none."""
        if self.size == 1:
            return table
        import torch
        import torch.distributed as dist

        counts = torch.zeros(self.size, dtype=torch.int64)
        counts[self.rank] = len(next(iter(table.values()))) if table else 0
        dist.all_reduce(counts)
        if not counts.any():
            return {}
        parts: dict[str, torch.Tensor] = {}
        begin, end = int(counts[: self.rank].sum()), int(counts[: self.rank + 1].sum())
        for name, shape in self.shapes(table).items():
            # Adding zeros is exact, and float64 holds every place in a text exactly.
            whole = torch.zeros(int(counts.sum()), *shape, dtype=torch.float64)
            if begin < end:
                whole[begin:end] = table[name]
            dist.all_reduce(whole)
            parts[name] = whole.to(torch.int64 if not shape else torch.float32)
        return parts

    def shapes(self, table: "dict[str, torch.Tensor]") -> dict[str, tuple[int, ...]]:
        """The shape of a row of each part: the states that a model carries, and their places."""
        import torch
        import torch.distributed as dist

        sizes = torch.zeros(2, dtype=torch.int64)
        if table:
            sizes = torch.tensor(table["states"].shape[1:])
        dist.all_reduce(sizes, dist.ReduceOp.MAX)
        return {"places": (), "states": (int(sizes[0]), int(sizes[1]))}

    def any(self, condition: bool) -> bool:
        return self.sum(condition) > 0

    def from_leader(self, number: float) -> float:
        return self.sum(number if self.leads else 0.0)

    @contextmanager
    def leader_first(self) -> Iterator[None]:
        """The leader runs the block first; then the others, which find its files on the disk."""
        if not self.leads:
            self.sum(0)
        yield
        if self.leads:
            self.sum(0)


ALONE = Team()


def worthwhile(train: TrainSection) -> int:
    """The number of processes to train with, where the recipe does not say: on CPUs two processes
    of one thread are faster than one of two, as long as each has enough work for each update.
    """
    from regard.machine import devices

    if train.processes or train.threads or devices.choose_device(train.device).type != "cpu":
        return max(1, train.processes)
    if train.steps < WORTHWHILE_STEPS:
        return 1
    return max(1, min(cores.usable_cores(), train.update_tokens // WORTHWHILE_TOKENS))


def launched() -> bool:
    """Whether a launcher such as torchrun has started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def leads_here() -> bool:
    return os.environ.get("RANK", "0") == "0" or not launched()


@contextmanager
def assembled(command: Sequence[str], processes: int) -> Iterator[Team]:
    """Join the processes that a launcher has started, or start the others here and lead them.

    `command` is what the others run; environment variables give them their ranks.
    """
    if launched():
        if STORE in os.environ:
            threading.Thread(target=leave_with_leader, daemon=True).start()
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        if STORE in os.environ:
            import torch.distributed  # noqa: F401  which takes seconds

            Path(os.environ[STORE]).with_name(f"{READY}{rank}").touch()
        with joined(rank, size, os.environ.get(STORE)):
            local = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
            yield Team(rank, size, *local)
    elif processes > 1:
        with started(command, processes) as (store, others):
            try:
                wait_until_ready(Path(store).parent, others)
                with joined(0, processes, store):
                    yield Team(0, processes, 0, processes)
            except RuntimeError as error:
                raise RunError(lost(others, error)) from error
    else:
        yield ALONE


@contextmanager
def joined(rank: int, size: int, store: str | None) -> Iterator[None]:
    """Join a process group, which meets at our file or at the address that a launcher gives."""
    import torch
    import torch.distributed as dist

    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
        init_method=f"file://{store}" if store else "env://",
        rank=rank,
        world_size=size,
        timeout=PATIENCE,
    )
    global has_joined
    has_joined = True
    try:
        yield
    finally:
        dist.destroy_process_group()


@contextmanager
def started(
    command: Sequence[str], processes: int
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Start the other processes of this machine. They end when this one does, in whatever way."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
    with tempfile.TemporaryDirectory(prefix="regard-") as folder:
        store = str(Path(folder, "store"))
        size = str(processes)
        place = {"WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, STORE: store}
        others = []
        try:
            for rank in map(str, range(1, processes)):
                with Path(folder, f"process-{rank}.log").open("wb") as log:
                    others.append(
                        subprocess.Popen(
                            command,
                            env={**os.environ, **place, "RANK": rank, "LOCAL_RANK": rank},
                            stdin=subprocess.PIPE,  # it closes when this process ends
                            stdout=log,
                            stderr=log,
                            start_new_session=True,  # Ctrl-C is for the leader alone
                        )
                    )
            yield store, others
            for other in others:
                other.wait()
        finally:
            for other in others:
                other.kill()
                other.communicate()


# A process that lost a leader which was killed leaves time to `leave_with_leader` to tidy up.
LEAVING_SECONDS = 0.5


def end_process(code: int) -> None:
    """End this process at once if it was in a group. PyTorch's threads outlive the group, and one
    that is busy when Python cleans up aborts the process, although its work is done.
    """
    if has_joined:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed by whoever read it
                stream.flush()
        if code and STORE in os.environ:
            time.sleep(LEAVING_SECONDS)
        os._exit(code)


def wait_until_ready(folder: Path, others: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Wait for the others here, where Ctrl-C is heard: PyTorch waits without listening."""
    while len(list(folder.glob(f"{READY}*"))) < len(others):
        if any(other.poll() is not None for other in others):
            raise RuntimeError("one ended while it started")
        time.sleep(0.05)


def leave_with_leader() -> None:
    """End when the leader has, which cannot tidy up if it was killed."""
    sys.stdin.buffer.read()
    shutil.rmtree(Path(os.environ[STORE]).parent, ignore_errors=True)
    os._exit(1)


def lost(others: Sequence["subprocess.Popen[bytes]"], error: RuntimeError) -> str:
    """A sentence that says why the processes cannot continue together."""
    deadline = time.monotonic() + 2  # a connection closes before its process ends
    while all(other.poll() is None for other in others) and time.monotonic() < deadline:
        time.sleep(0.02)
    for rank, other in enumerate(others, start=1):
        if (code := other.poll()) is not None:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            return (
                f"training process {rank} of {len(others) + 1} {how}; start the same command to "
                "resume from the last checkpoint, with --processes 1 if memory is short"
            )
    return f"the training processes lost each other ({str(error).splitlines()[0]}); start again"
