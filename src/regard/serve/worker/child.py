"""Inside the worker: it loads the models, tries each, and answers until the server is gone.

The server holds the other end of standard input. The worker ends as soon as that is closed, by the
server or because the server died, whatever the worker is doing. So it needs no signal, and ignores
those that a terminal or a service manager sends to all processes of a server.
"""

import asyncio
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

from starlette.responses import Response, StreamingResponse

from regard.errors import RegardError
from regard.serve.http.limits import CALLER
from regard.serve.http.refusal import FAILED, TIMED_OUT, Refusal
from regard.serve.http.request_fields import RequestFields
from regard.serve.priority import give_way
from regard.serve.question import Answerer, Question
from regard.serve.settings import Settings
from regard.serve.worker.frames import Frames, Head

# How long a thread may keep the others from Python: batches are prepared in threads, and the event
# loop, which is woken for every request, would wait for each of them.
SWITCH_SECONDS = 0.001
# Where the system must end a process for want of memory, it should be this one, not the server.
OOM_SCORE = "500"


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    settings = Settings.from_json(sys.stdin.readline())
    sys.setswitchinterval(SWITCH_SECONDS)
    threading.Thread(target=end_with_server, name="end-with-server", daemon=True).start()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)
    asyncio.run(work(settings, socket.socket(fileno=int(sys.argv[1]))))


def end_with_server() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(0)


async def work(settings: Settings, connection: socket.socket) -> None:
    child = Child()
    loop = asyncio.get_running_loop()
    _, frames = await loop.create_connection(
        lambda: Frames(child.received, lambda: os._exit(0)), sock=connection
    )
    child.frames = frames
    start = time.perf_counter()
    said: list[str] = []
    try:
        with ThreadPoolExecutor(1, initializer=give_way) as one:
            child.answerer = await loop.run_in_executor(one, load, settings, said)
    except RegardError as error:
        frames.send({"failed": str(error)})
    except MemoryError:
        frames.send({"failed": "there is not enough memory to load the runs; serve fewer of them"})
    else:
        frames.send({"ready": said, "seconds": time.perf_counter() - start})
    await asyncio.Event().wait()  # until the server is gone


def load(settings: Settings, said: list[str]) -> Answerer:
    """Load all runs and try each of them once."""
    from regard.serve.answers import Answers
    from regard.serve.loading import build_service, tune_garbage_collection
    from regard.serve.trial import try_all

    service = build_service(settings, said.append)
    try_all(service)
    answers = Answers(service)
    tune_garbage_collection()
    return answers


class Child:
    """The requests that are being answered, by their numbers."""

    frames: Frames
    answerer: Answerer

    def __init__(self) -> None:
        self._running: dict[int, asyncio.Task[None]] = {}

    def received(self, head: Head, data: bytes) -> None:
        number = head["number"]
        if "path" not in head:  # nobody waits for the answer any more
            if number in self._running:
                self._running[number].cancel()
            return
        task = asyncio.get_running_loop().create_task(self._answer(number, head, data))
        self._running[number] = task
        task.add_done_callback(lambda _: self._running.pop(number, None))

    async def _answer(self, number: int, head: Head, data: bytes) -> None:
        question = read_question(head, data)
        CALLER.set(question.caller)
        try:
            await self._send(number, await self.answerer(question))
        except Refusal as refusal:
            sent = [refusal.status, str(refusal), refusal.retry_after_seconds]
            self.frames.send({"number": number, "refusal": sent})
        except TimeoutError:
            self.frames.send({"number": number, "refusal": [503, TIMED_OUT, 1]})
        except Exception:  # a fault of ours: this request fails, the worker continues
            traceback.print_exc(file=sys.stderr)
            self.frames.send({"number": number, "refusal": [500, FAILED, None]})

    async def _send(self, number: int, response: Response) -> None:
        head: dict[str, Any] = {
            "number": number,
            "status": response.status_code,
            "headers": [[name.decode(), value.decode()] for name, value in response.raw_headers],
        }
        if not isinstance(response, StreamingResponse):
            self.frames.send(head, bytes(response.body))
            return
        self.frames.send({**head, "more": True})
        async with aclosing(cast(Any, response.body_iterator)) as pieces:
            async for piece in cast(AsyncIterator[bytes], pieces):
                self.frames.send({"number": number, "more": True}, piece)
        self.frames.send({"number": number})


def read_question(head: Head, data: bytes) -> Question:
    names, lengths = head["files"], head["lengths"]
    ends = list(accumulate(lengths))
    files = [
        (name, data[end - length : end])
        for name, length, end in zip(names, lengths, ends, strict=True)
    ]
    fields = RequestFields(head["values"], files)
    return Question(head["path"], fields, head["caller"], head["has_keys"])
