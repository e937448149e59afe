"""One thread, and a short queue for it."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from regard.serve.http.limits import CALLER
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


def test_callers_take_turns() -> None:
    done: list[str] = []

    async def work() -> None:
        thread = OneThread()

        async def ask(caller: str, seconds: float = 0.0) -> None:
            CALLER.set(caller)
            await thread.run(lambda: (time.sleep(seconds), done.append(caller)))

        many = [asyncio.ensure_future(ask("many", 0.05)) for _ in range(10)]
        await asyncio.sleep(0.01)
        await ask("one")
        assert done.count("many") <= 3
        await asyncio.gather(*many)

    asyncio.run(work())


def test_a_caller_has_half_of_the_queue_and_others_their_part() -> None:
    async def work() -> None:
        thread = OneThread(max_waiting=4)

        async def ask(caller: str) -> None:
            CALLER.set(caller)
            await thread.run(time.sleep, 0.02)

        waiting = [asyncio.ensure_future(ask("a")) for _ in range(3)]
        await asyncio.sleep(0.001)
        with pytest.raises(Refusal):
            await ask("a")
        waiting += [asyncio.ensure_future(ask(caller)) for caller in "bbc"]
        await asyncio.gather(*waiting)

    asyncio.run(work())


def test_a_caller_who_leaves_gives_the_turn_away() -> None:
    async def work() -> None:
        thread = OneThread()
        running = asyncio.ensure_future(thread.run(time.sleep, 0.1))
        await asyncio.sleep(0.01)
        leaving = [asyncio.ensure_future(thread.run(time.sleep, 60)) for _ in range(3)]
        await asyncio.sleep(0.01)
        for each in leaving:
            each.cancel()
        assert await asyncio.wait_for(thread.run(lambda: "free"), 30) == "free"
        await running

    asyncio.run(work())
