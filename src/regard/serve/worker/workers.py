"""The worker that answers, and its successor: after it crashed, and when the server reloads."""

import asyncio
import time
from asyncio import sleep as pause
from collections.abc import Callable
from contextlib import suppress

from starlette.responses import Response

from regard.errors import RegardError
from regard.serve.api.paths import READY
from regard.serve.http.metrics import Metrics
from regard.serve.http.refusal import Refusal, take_time
from regard.serve.question import Question
from regard.serve.settings import Settings
from regard.serve.worker.connection import Loaded, Worker

# How long to wait before the worker is started again. The first time it is started at once, and so
# it is when it had worked for long enough.
FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 1.0, 30.0
STEADY_SECONDS = 60.0


class Workers:
    """Answers by asking the current worker. There is none while it is being started again."""

    def __init__(self, settings: Settings, metrics: Metrics, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._metrics = metrics
        self._say = say
        self._current: Worker | None = None
        self._since = 0.0  # when the current worker was ready
        self._retry_at = 0.0  # when the next one should be
        self._load_seconds = 1.0
        self._delay = 0.0
        self._starting = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> list[str]:
        """Start the first worker; returns a line for each run."""
        return (await self._replace()).runs

    async def __call__(self, question: Question) -> Response:
        if self._current is None:
            seconds = self._retry_at - time.monotonic()
            if question.path != READY:  # who asks again at once would make the loading slower
                await take_time()
            raise Refusal(503, "the models are being loaded again; try again", max(1.0, seconds))
        return await self._current.ask(question)

    @property
    def pid(self) -> int | None:
        return self._current.pid if self._current else None

    async def reload(self) -> None:
        """Load the runs as they are now in another worker, and let it take over. If that fails, the
        current worker continues.
        """
        try:
            loaded = await self._replace()
        except RegardError as error:
            kept = "the models loaded before answer" if self._current else "no model is loaded"
            self._say(f"The runs were not reloaded, and {kept}: {error}")
        else:
            self._say(f"Reloaded the runs in {loaded.seconds:.1f} s")

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if self._current is not None:
            await self._current.stop()

    async def _replace(self) -> Loaded:
        """Start a worker, and let it take over when it is ready. The old one answers what it was
        asked.
        """
        async with self._starting:
            worker = Worker(self._crashed)
            loaded = await worker.start(self._settings)
            old, self._current = self._current, worker
            self._since, self._load_seconds = time.monotonic(), loaded.seconds
            if old is not None:
                self._run(old.stop(self._settings.limits.request_seconds))
            return loaded

    def _crashed(self, worker: Worker, reason: str) -> None:
        if worker is not self._current:
            self._say(f"A worker that finished its last requests {reason}")
            return
        self._current = None
        self._metrics.worker_ends.inc()
        now = time.monotonic()
        if now - self._since > STEADY_SECONDS:
            self._delay = 0.0
        when = f"in {self._delay:.0f} s" if self._delay else "now"
        self._say(f"The worker {reason}; it is started again {when}")
        self._run(self._restart())

    async def _restart(self) -> None:
        while True:
            self._retry_at = time.monotonic() + self._delay + self._load_seconds
            await pause(self._delay)
            self._delay = min(max(FIRST_DELAY_SECONDS, 2 * self._delay), LONGEST_DELAY_SECONDS)
            if self.pid is not None:  # a reload was quicker
                return
            try:
                loaded = await self._replace()
            except RegardError as error:
                self._say(f"The worker is started again in {self._delay:.0f} s: {error}")
            else:
                self._say(f"The worker answers again, after {loaded.seconds:.1f} s")
                return

    def _run(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
