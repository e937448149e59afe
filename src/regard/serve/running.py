"""The server while it runs: it starts its worker, reloads at SIGHUP, and saves what keys used."""

import asyncio
import gc
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import uvicorn

from regard.errors import RegardError
from regard.serve import service_manager
from regard.serve.http.keys import Keys
from regard.serve.http.quotas import Usage
from regard.serve.listeners import address_of
from regard.serve.worker.workers import Workers

SAVE_EVERY_SECONDS = 2.0


@dataclass
class Accounts:
    """The keys, and what they have used."""

    keys: Keys
    usage: Usage
    say: Callable[[str], None]

    def reload(self) -> None:
        try:
            self.keys.reload(self.usage.is_kept)
        except RegardError as error:
            self.say(f"The keys were not reloaded, and the ones before stay: {error}")

    def save(self) -> None:
        try:
            self.usage.save()
        except RegardError as error:
            self.say(str(error))

    async def keep_saving(self) -> None:
        while True:
            await asyncio.sleep(SAVE_EVERY_SECONDS)
            await asyncio.to_thread(self.save)


class ServerApart(uvicorn.Server):
    """A server beside the main one, which handles the signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Server(uvicorn.Server):
    """A server that starts its worker before it accepts requests."""

    def __init__(
        self,
        config: uvicorn.Config,
        workers: Workers,
        accounts: Accounts,
        say: Callable[[str], None],
    ) -> None:
        super().__init__(config)
        self._workers = workers
        self._accounts = accounts
        self._say = say
        self._tasks: set[asyncio.Task[None]] = set()
        self._apart: tuple[ServerApart, socket.socket] | None = None

    def serve_apart(self, config: uvicorn.Config, listener: socket.socket) -> None:
        """Serve this, too, as long as the server runs."""
        self._apart = ServerApart(config), listener

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        start = time.perf_counter()
        loading = asyncio.create_task(self._workers.start())
        while not (await asyncio.wait([loading], timeout=0.1))[0] and not self.should_exit:
            pass
        if self.should_exit:  # a signal to all processes may have ended the worker, too
            loading.cancel()
            await asyncio.gather(loading, return_exceptions=True)
            return
        for line in loading.result():
            self._say(line)
        gc.freeze()  # what is loaded now stays; see regard.serve.loading
        await super().startup(sockets)
        if self._apart is not None:
            server, listener = self._apart
            self._run(server.serve([listener]))
            self._say(f"  Metrics: {address_of(listener)}metrics")
        self._run(self._accounts.keep_saving())
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
        seconds = time.perf_counter() - start
        assert sockets
        self._say(f"Ready in {seconds:.1f} s: {address_of(sockets[0])} (Ctrl-C stops)")
        service_manager.notify(service_manager.READY)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().serve(sockets)
        finally:
            if self._apart is not None:
                self._apart[0].should_exit = True
            for task in list(self._tasks):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await self._workers.stop()
            self._accounts.save()

    def _reload(self) -> None:
        """Reload the keys and the runs, while the server answers."""
        service_manager.reloading()
        self._accounts.reload()
        self._run(self._reload_runs())

    async def _reload_runs(self) -> None:
        await self._workers.reload()
        service_manager.notify(service_manager.READY)

    def _run(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
