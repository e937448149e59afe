"""One thread, and a short queue for it."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from regard.serve.http.refusal import Refusal
from regard.serve.one_thread import OneThread


def test_writing_stops_when_nobody_reads() -> None:
    drawn: list[int] = []

    def endless() -> Iterator[int]:
        while len(drawn) < 100_000:
            drawn.append(1)
            time.sleep(0.001)
            yield len(drawn)

    async def work() -> None:
        thread = OneThread()
        stream: Any = thread.stream(endless)
        assert await anext(stream) == 1
        await stream.aclose()
        assert await asyncio.wait_for(thread.run(lambda: "free"), 10) == "free"

    asyncio.run(work())
    assert len(drawn) < 1000


def test_only_few_may_wait_for_the_thread() -> None:
    async def work() -> None:
        thread = OneThread(max_waiting=2)
        waiting = [asyncio.ensure_future(thread.run(time.sleep, 0.2)) for _ in range(2)]
        await asyncio.sleep(0.01)
        with pytest.raises(Refusal) as refused:
            await thread.run(time.sleep, 0)
        assert refused.value.status == 503
        await asyncio.gather(*waiting)

    asyncio.run(work())
