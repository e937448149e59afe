"""One thread for work that must not run twice at the same time, and a short queue for it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from regard.serve.http.limits import CALLER
from regard.serve.http.refusal import Refusal
from regard.serve.http.turns import Turns
from regard.serve.priority import give_way

Result = TypeVar("Result")
MAX_WAITING = 32
# The requests of one caller fill this part of the queue at most; the rest is for others.
CALLER_SHARE = 1 / 2


class OneThread:
    """Callers take turns, so that one with many requests does not keep others waiting."""

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self._executor = ThreadPoolExecutor(1, "one", initializer=give_way)
        self._max_waiting = max_waiting
        self._is_busy = False
        self._turns = Turns(self._next_turn)

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a function in the thread and return its result. It never starts if the caller is
        cancelled before its turn.
        """
        loop = asyncio.get_running_loop()
        if self._is_busy:
            await self._wait_for_turn(CALLER.get())
        self._is_busy = True
        running = self._executor.submit(work, *arguments)

        def ended(_: Future[Result]) -> None:
            with suppress(RuntimeError):  # the event loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(self._next_turn)

        running.add_done_callback(ended)
        return await asyncio.wrap_future(running)

    async def _wait_for_turn(self, caller: str) -> None:
        of_caller, most = self._turns.waiting_of(caller), self._max_waiting
        # A full queue still has room for who has less than an equal part of it.
        is_full = self._turns.waiting >= most and of_caller >= most // self._turns.callers_with(
            caller
        )
        if is_full or of_caller >= CALLER_SHARE * most:
            raise Refusal(503, "the server is busy; try again", 2)
        await self._turns.wait(caller)

    def _next_turn(self) -> None:
        self._is_busy = self._turns.give()

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
