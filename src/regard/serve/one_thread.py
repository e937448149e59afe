"""One thread for work that must not run twice at the same time, and a short queue for it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from regard.serve.http.refusal import Refusal

Result = TypeVar("Result")
MAX_WAITING = 32


class OneThread:
    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="one")
        self._max_waiting = max_waiting
        self._waiting = 0

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a function in the thread and return its result. It never starts if the caller is
        cancelled before its turn.
        """
        if self._waiting >= self._max_waiting:
            raise Refusal(503, "the server is busy; try again", 2)
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._executor, work, *arguments)
        finally:
            self._waiting -= 1

    async def stream(self, source: Callable[[], Iterator[Result]]) -> AsyncGenerator[Result, None]:
        """Iterate in the thread and yield the items as they come. The iteration ends when the
        caller stops reading.
        """
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[Result | None] = asyncio.Queue()
        gone = threading.Event()

        def work() -> None:
            try:
                for item in source():
                    if gone.is_set():
                        return
                    loop.call_soon_threadsafe(arrived.put_nowait, item)
            finally:
                if not gone.is_set():
                    loop.call_soon_threadsafe(arrived.put_nowait, None)

        running = asyncio.ensure_future(self.run(work))
        running.add_done_callback(lambda _: arrived.put_nowait(None))  # even if it never started
        try:
            while (item := await arrived.get()) is not None:
                yield item
            await running
        finally:
            gone.set()
            running.cancel()
