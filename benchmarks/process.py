"""Each contender is a process of its own, with its own threads and allocator. It waits on its
standard input, which costs nothing, and answers a line of JSON with a line of JSON.
"""

import ctypes
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parent.parent
Message = dict[str, Any]

# Makes glibc keep freed memory instead of returning it after every operation. With plain PyTorch
# libraries this is worth up to a quarter of their speed.
KEEP_BUFFERS = {
    "MALLOC_MMAP_THRESHOLD_": str(4 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
    "MALLOC_TOP_PAD_": str(256 << 20),
}
# What the command `regard` sets for itself before it loads PyTorch.
REGARD = {"GOMP_SPINCOUNT": "1000"}
SHARED = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": ""}
# Settings in the environment that would otherwise affect some contenders and not others.
TUNING = ("OMP_", "MKL_", "GOMP_", "KMP_", "MALLOC_")


def environment(threads: int, settings: Mapping[str, str]) -> dict[str, str]:
    """The environment of a contender: ours without such settings, plus its own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(TUNING)}
    number = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    return inherited | SHARED | number | dict(settings)


class Contender:
    """The side that asks. `hello` is the first answer of the process, when it is ready."""

    def __init__(
        self,
        name: str,
        module: str,
        job: Message,
        settings: Mapping[str, str],
        logs: Path,
        python: str = sys.executable,
    ) -> None:
        self.name = name
        self.log = logs / f"{name}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        started = time.perf_counter()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [python, "-m", module, json.dumps(job)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                env=environment(job["threads"], settings),
                text=True,
            )
        self.hello = self._read()
        self.start_seconds = time.perf_counter() - started

    def ask(self, request: Message) -> Message:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self) -> Message:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            last = self.log.read_text("utf-8", "replace").strip().splitlines()[-1:]
            raise SystemExit(f"{self.name} ended: {' '.join(last)} (see {self.log})")
        answer: Message = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Replies:
    """The side that answers. What libraries print goes to the log, not between the answers."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        threading.Thread(target=leave_with, args=(os.getppid(),), daemon=True).start()

    def serve(self, hello: Message, answer: Callable[[Message], Message]) -> None:
        self._write(hello)
        for line in sys.stdin:
            reply = answer(json.loads(line))
            give_back_memory()
            self._write(reply)

    def _write(self, message: Message) -> None:
        self._out.write(json.dumps(message) + "\n")
        self._out.flush()


def leave_with(parent: int) -> None:
    """End this process when its parent ends, so that a killed measurement leaves nothing
    running.
    """
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def give_back_memory() -> None:
    """Return free memory to the system, since several large models wait at the same time."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def peak_memory_bytes() -> int:
    """The sum of the peak memory of this process and of the processes it has started.

    getrusage would also count the process from which one was forked.
    """
    own = os.getpid()
    try:
        children = Path(f"/proc/self/task/{own}/children").read_text("ascii").split()
        return sum(high_water_bytes(pid) for pid in (str(own), *children))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def high_water_bytes(pid: str) -> int:
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024
