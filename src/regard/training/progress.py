"""Reports how far long work has come, as events of a training."""

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TypeVar

from regard.reporter import Advance, Reporter
from regard.training.events import Event, Phase

T = TypeVar("T")
# Seconds between two reports.
PAUSE = 2.0


def reported(what: str, work: Callable[[Reporter], T]) -> Generator[Event, None, T]:
    """Do the work in a thread, and say now and then how far it has come."""
    done, total = 0, 0
    results: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue()

    @contextmanager
    def progress(_: str, count: int) -> Iterator[Advance]:
        nonlocal total
        total = count

        def advance(count: int) -> None:
            nonlocal done
            done += count

        yield advance

    def run() -> None:
        try:
            results.put((work(Reporter(progress=progress)), None))
        except BaseException as error:
            results.put((None, error))

    started = time.monotonic()
    yield Phase(what)
    threading.Thread(target=run, daemon=True).start()
    while True:
        try:
            found, error = results.get(timeout=PAUSE)
        except queue.Empty:
            if done:
                left = (time.monotonic() - started) * (total - done) / done
                yield Phase(f"{what}: {done:,} of {total:,}, about {left:.0f} s left")
            continue
        if error is not None:
            raise error
        return found  # type: ignore[return-value]
