"""A worker as the server sees it: a process that is asked, and that may end at any time."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from regard.errors import RequestError
from regard.serve.http.refusal import Refusal
from regard.serve.question import Question
from regard.serve.settings import Settings
from regard.serve.worker.frames import Frames, Head, encoded

# Questions with more in them are encoded in a thread, so that other requests continue.
LARGE_BYTES = 1 << 16
MANY = 256
END_SECONDS = 5.0


@dataclass
class Loaded:
    """What a worker said when it was ready."""

    runs: list[str]
    seconds: float


@dataclass(eq=False)
class Pending:
    """A request that a worker answers: the frames that arrived and are not sent yet."""

    frames: asyncio.Queue[tuple[Head, bytes]] = field(default_factory=asyncio.Queue)


class Streamed(StreamingResponse):
    """An answer that comes in pieces. `ended` is called when nobody reads it any more."""

    def __init__(self, pending: Pending, ended: Callable[[], None]) -> None:
        super().__init__(pieces(pending))
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()


async def pieces(pending: Pending) -> AsyncGenerator[bytes, None]:
    while True:
        head, piece = await pending.frames.get()
        if "refusal" in head:
            raise Refusal(*head["refusal"])
        if piece:
            yield piece
        if not head.get("more"):
            return


class Worker:
    """One worker process. `ended` is called once it has ended by itself."""

    def __init__(self, ended: Callable[["Worker", str], None]) -> None:
        self._ended = ended
        self._frames = Frames(self._received, self._lost)
        self._numbers = count()
        self._pending: dict[int, Pending] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopping = False
        self._loaded: asyncio.Future[Loaded] = asyncio.get_running_loop().create_future()

    async def start(self, settings: Settings) -> Loaded:
        """Start the process and wait until it has loaded and tried its models. What is wrong with
        them is raised as a RequestError.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            # -P: a file in the current folder must not take the place of a module. A session of its
            # own: Ctrl-C is for the server alone, and Linux gives every session an equal part of
            # the processors, so that what the models compute takes nothing from the server.
            command = [sys.executable, "-P", "-m", "regard.serve.worker", str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, pass_fds=[theirs.fileno()], start_new_session=True
            )
        try:
            loop = asyncio.get_running_loop()
            await loop.create_connection(lambda: self._frames, sock=ours)
            assert self._process.stdin is not None
            with suppress(BrokenPipeError):
                self._process.stdin.write(settings.to_json().encode() + b"\n")
                self._process.stdin.flush()
            return await self._loaded
        except BaseException:
            await self.stop()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ask(self, question: Question) -> Response:
        """The worker's answer. When nobody waits for it any more, the worker learns of it."""
        number, pending = next(self._numbers), Pending()
        head, data = await encoded_question(number, question)
        if self._stopping or self._process.returncode is not None:
            raise gone()
        self._pending[number] = pending
        self._idle.clear()
        streams = False
        try:
            self._frames.send_encoded(head, data)
            answer, body = await pending.frames.get()
            if "refusal" in answer:
                raise Refusal(*answer["refusal"])
            streams = bool(answer.get("more"))
            response = (
                Streamed(pending, lambda: self._forget(number)) if streams else Response(body)
            )
            response.status_code = answer["status"]
            headers = answer["headers"]
            response.raw_headers = [(name.encode(), text.encode()) for name, text in headers]
            return response
        finally:
            if not streams:
                self._forget(number)

    def _forget(self, number: int) -> None:
        if self._pending.pop(number, None) is not None:
            self._frames.send({"number": number})  # ends the work, if it is not finished
        if not self._pending:
            self._idle.set()

    def _received(self, head: Head, data: bytes) -> None:
        if "ready" in head:
            self._loaded.set_result(Loaded(head["ready"], head["seconds"]))
        elif "failed" in head:
            self._loaded.set_exception(RequestError(head["failed"]))
        elif (pending := self._pending.get(head["number"])) is not None:
            pending.frames.put_nowait((head, data))
            if not head.get("more"):
                del self._pending[head["number"]]

    def _lost(self) -> None:
        """The process has closed its socket, which only its end does."""
        if not self._stopping:
            asyncio.get_running_loop().create_task(self._bury())

    async def _bury(self) -> None:
        await self._wait()
        reason = how_it_ended(self._process.returncode)
        self._refuse_pending()
        if not self._loaded.done():
            self._loaded.set_exception(
                RequestError(f"the worker {reason} while it loaded the runs")
            )
        elif not self._stopping:
            self._ended(self, reason)

    def _refuse_pending(self) -> None:
        refusal = gone()
        sent = [refusal.status, str(refusal), refusal.retry_after_seconds]
        for pending in self._pending.values():
            pending.frames.put_nowait(({"refusal": sent}, b""))
        self._pending.clear()
        self._idle.set()

    async def stop(self, drain_seconds: float = 0.0) -> None:
        """End the process when it has answered what it was asked, or when the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_seconds):
                await self._idle.wait()
        self._stopping = True
        self._refuse_pending()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        await self._wait()
        self._frames.close()

    async def _wait(self) -> None:
        """Wait for the end of the process, and force it if it does not come."""
        try:
            await asyncio.to_thread(self._process.wait, END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)


async def encoded_question(number: int, question: Question) -> tuple[bytes, bytes]:
    fields = question.fields
    head = {
        "number": number,
        "path": question.path,
        "caller": question.caller,
        "has_keys": question.has_keys,
        "values": fields.values,
        "files": [name for name, _ in fields.files],
        "lengths": [len(data) for _, data in fields.files],
    }
    data = b"".join(data for _, data in fields.files)
    try:
        if size_of(fields.values) > LARGE_BYTES:
            return await asyncio.to_thread(encoded, head), data
        return encoded(head), data
    except RecursionError:
        raise Refusal(400, "Invalid JSON format") from None


def size_of(values: dict[str, Any]) -> int:
    """About how many bytes the fields of a request have in JSON."""
    size = 0
    for value in values.values():
        for each in value[:MANY] if isinstance(value, list) else [value]:
            size += len(each) if isinstance(each, str) else 16
        if isinstance(value, dict) or (isinstance(value, list) and len(value) > MANY):
            return LARGE_BYTES + 1
    return size


def gone() -> Refusal:
    return Refusal(503, "the worker ended while it answered; send the request again", 1)


def how_it_ended(status: int | None) -> str:
    """In words: `was ended by SIGSEGV`."""
    if status is not None and status < 0:
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"
    return f"ended with status {status}"
