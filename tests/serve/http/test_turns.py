"""Callers take turns, also before anything of their requests is known but where they come from."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from regard.serve.http.turns import Starts, Turns


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(30):
            return await work()

    return asyncio.run(bounded())


def test_a_caller_with_one_request_is_next_after_each_other_caller() -> None:
    order: list[str] = []

    async def work() -> None:
        turns = Turns()

        async def wait(caller: str) -> None:
            await turns.wait(caller)
            order.append(caller)

        tasks = [asyncio.ensure_future(wait(caller)) for caller in "aaaabbbbc"]
        await asyncio.sleep(0)
        assert (turns.waiting, turns.waiting_of("a"), turns.callers_with("d")) == (9, 4, 4)
        while turns.give():
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        assert turns.waiting == 0

    run(work)
    assert order == list("abcabababa"[:3]) + list("ababab")


def test_a_turn_that_nobody_takes_is_passed_on() -> None:
    unused: list[int] = []

    async def work() -> None:
        turns = Turns(lambda: unused.append(1))
        early, late = (asyncio.ensure_future(turns.wait("a")) for _ in range(2))
        await asyncio.sleep(0)
        early.cancel()
        await asyncio.sleep(0)
        assert turns.give()  # the one who has left is passed over
        late.cancel()
        await asyncio.gather(early, late, return_exceptions=True)
        assert not turns.give()

    run(work)
    assert unused == [1]


def test_hundreds_at_once_do_not_keep_another_address_waiting() -> None:
    order: list[str] = []
    ticks: list[int] = []

    async def work() -> None:
        starts = Starts(8)

        async def begin(address: str) -> None:
            await starts.wait(address)
            order.append(address)

        async def tick() -> None:
            while len(order) < 501:
                ticks.append(len(order))
                await asyncio.sleep(0)

        tasks = [asyncio.ensure_future(begin("many")) for _ in range(500)]
        tasks += [asyncio.ensure_future(begin("one")), asyncio.ensure_future(tick())]
        await asyncio.gather(*tasks)

    run(work)
    assert Counter(order) == {"many": 500, "one": 1}
    assert order.index("one") < 8
    # Whatever else there is to do has its turn after every eight.
    assert max(later - sooner for sooner, later in itertools.pairwise(ticks)) <= 8
