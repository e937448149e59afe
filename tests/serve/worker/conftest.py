"""Servers as people start them: a process, its worker, and what it says."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PATIENCE_SECONDS = 120.0


def until(true: Callable[[], Any], what: str) -> Any:
    """Wait until something is true, and return it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if found := true():
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited in vain: {what}")


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it is not only waiting for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@dataclass
class Process:
    """A server in a process and a group of its own."""

    process: "subprocess.Popen[str]"
    url: str = ""
    lines: "queue.Queue[str]" = field(default_factory=queue.Queue)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with suppress(ValueError):
            for line in self.process.stderr:
                self.lines.put(line.rstrip("\n"))

    def wait_for(self, pattern: str) -> "re.Match[str]":
        """Wait for a line with this pattern."""
        while True:
            line = self.lines.get(timeout=PATIENCE_SECONDS)
            self.said.append(line)
            if found := re.search(pattern, line):
                return found

    def everything(self) -> str:
        """All that was said until now."""
        while not self.lines.empty():
            self.said.append(self.lines.get())
        return "\n".join(self.said)

    def workers(self) -> list[int]:
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(each) for path in children for each in path.read_text().split()]

    def worker(self) -> int:
        (found,) = until(self.workers, "a worker")
        return int(found)

    def ask(self, path: str, timeout: float = 60, **values: Any) -> tuple[int, Any, Any]:
        """The status, the answer and the headers; a POST if there are values."""
        data = json.dumps(values).encode() if values else None
        request = urllib.request.Request(
            self.url + path, data, {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(), error.headers

    def translate(self, text: str = "the cat sleeps") -> tuple[int, Any, Any]:
        return self.ask("translate", q=text, source="fr", target="en")


Begin = Callable[..., Process]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Start `regard serve` with some words, and wait until it is ready."""
    started: list[Process] = []

    def starting(*words: str, ready: bool = True) -> Process:
        command = [sys.executable, "-m", "regard", "serve", *words]
        if "--unix-socket" not in words and "--port" not in words:
            command += ["--port", "0"]
        found = Process(
            subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        )
        started.append(found)
        if ready:
            found.url = found.wait_for(r"Ready in .*: (\S+) ")[1]
        return found

    if not Path("/proc/self/task").is_dir():
        pytest.skip("needs /proc to see the processes of a server")
    yield starting
    for each in started:
        with suppress(ProcessLookupError):
            os.killpg(each.process.pid, signal.SIGKILL)
        each.process.kill()
        each.process.wait()
        assert each.process.stderr is not None
        each.process.stderr.close()
