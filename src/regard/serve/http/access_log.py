"""The access log: a line of JSON for each request, without its texts.

A thread writes it. If nobody reads the pipe that it is written to, lines are dropped and counted,
and the server answers as before.
"""

import json
import os
import queue
import sys
import threading
import time
from typing import Any, TextIO

MAX_WAITING = 10_000


class AccessLog:
    """`quiet` leaves out the requests; faults of the server are always written."""

    def __init__(self, file: TextIO | None = None, quiet: bool = False) -> None:
        self._file = file or sys.stderr
        self._quiet = quiet
        self._waiting: queue.Queue[str] = queue.Queue(MAX_WAITING)
        self._dropped = 0
        threading.Thread(target=self._work, name="log", daemon=True).start()

    def request(self, facts: dict[str, Any]) -> None:
        if not self._quiet:
            self.fault(line(facts))

    def fault(self, text: str) -> None:
        """Write a text, which may have several lines."""
        try:
            self._waiting.put_nowait(text)
        except queue.Full:
            self._dropped += 1

    def close(self, seconds: float = 1.0) -> None:
        """Wait until all is written, but no longer than this: perhaps nobody reads."""
        end = time.monotonic() + seconds
        while self._waiting.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.005)

    def _work(self) -> None:
        while True:
            text = self._waiting.get()
            dropped, self._dropped = self._dropped, 0
            if dropped:
                text = line({"dropped": dropped}) + text
            try:
                self._write(text)
            except (OSError, ValueError):
                pass  # nobody can read any more
            finally:
                self._waiting.task_done()

    def _write(self, text: str) -> None:
        if self._file is not sys.stderr:
            self._file.write(text)
            self._file.flush()
            return
        # Not through the buffer: its lock, held while the pipe is full, would stop others and exit.
        left = text.encode("utf-8", "backslashreplace")
        while left:
            left = left[os.write(2, left) :]


def line(facts: dict[str, Any]) -> str:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return json.dumps({"time": stamp, **facts}, ensure_ascii=False) + "\n"
