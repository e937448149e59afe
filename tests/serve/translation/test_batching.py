"""Sentences share batches, no request waits for ever, and no answer depends on its batch."""

import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from regard.decode.search import Search
from regard.engines import Abandoned
from regard.serve.http.limits import CALLER
from regard.serve.http.refusal import Refusal
from regard.serve.translation.batching import Batcher
from regard.tasks.translation.marked import MarkedTranslation
from regard.text.marks import MarkedText
from regard.text.protect import unmarked
from tests.serve.conftest import Live

SEARCH = Search(beam_size=2)


class Echo:
    """A translator that records its batches, and can be made to wait or to fail."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.may_go = threading.Event()
        self.may_go.set()
        self.began = threading.Event()
        self.given_up = 0

    def texts(self, texts: Sequence[str], search: Search, stopped: Callable[[], bool]) -> list[str]:
        self.batches.append(list(texts))
        self.began.set()
        assert self.may_go.wait(30)
        if stopped():
            self.given_up += 1
            raise Abandoned
        if any("poison" in text for text in texts):
            raise ValueError("poisoned")
        return [text.upper() for text in texts]

    def marked_translations(
        self, texts: Sequence[str], search: Search, stopped: Callable[[], bool], aligned: bool
    ) -> list[list[MarkedTranslation]]:
        found = self.texts(texts, search, stopped)
        return [[MarkedTranslation(MarkedText((text,)), "kept")] for text in found]


@contextmanager
def batching(
    threads: int = 1, waiting: int = 1000, together: int = 8
) -> Iterator[tuple[Batcher, Any]]:
    batcher, echo = Batcher(threads, waiting, together), Echo()
    try:
        yield batcher, echo
    finally:
        echo.may_go.set()
        batcher.stop()


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(30):
            return await work()

    return asyncio.run(bounded())


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.001)


def test_requests_that_wait_share_a_batch_and_get_their_own_answers() -> None:
    with batching() as (batcher, echo):

        async def work() -> list[Any]:
            echo.may_go.clear()
            first = asyncio.create_task(batcher.best(echo, ["first"], SEARCH))
            await until(echo.began.is_set)
            others = [
                asyncio.create_task(batcher.best(echo, [f"a{i}", f"b{i}"], SEARCH))
                for i in range(3)
            ]
            await until(lambda: batcher.waiting == 6)
            echo.may_go.set()
            return list(await asyncio.gather(first, *others))

        assert run(work) == [["FIRST"], *([f"A{i}", f"B{i}"] for i in range(3))]
        assert echo.batches == [["first"], ["a0", "a1", "a2", "b0", "b1", "b2"]]


def test_a_long_text_does_not_keep_a_short_one_waiting() -> None:
    with batching(together=4) as (batcher, echo):

        async def work() -> list[str]:
            echo.may_go.clear()
            long = asyncio.create_task(batcher.best(echo, [f"l{i}" for i in range(40)], SEARCH))
            await until(echo.began.is_set)
            short = asyncio.create_task(batcher.best(echo, ["short"], SEARCH))
            await until(lambda: batcher.waiting == 37)
            echo.may_go.set()
            await short
            return await long

        assert run(work) == [f"L{i}" for i in range(40)]
        assert "short" in echo.batches[1]
        assert len(echo.batches) == 11


def test_a_batch_is_of_a_length_with_the_one_that_waited_longest() -> None:
    with batching(together=3) as (batcher, echo):

        async def work() -> Any:
            echo.may_go.clear()
            first = asyncio.create_task(batcher.best(echo, ["first"], SEARCH))
            await until(echo.began.is_set)
            rest = []
            for length in (20, 3, 22, 2, 40, 19):
                rest.append(asyncio.create_task(batcher.best(echo, ["x" * length], SEARCH)))
                await until(lambda: batcher.waiting == len(rest))
            echo.may_go.set()
            return await asyncio.gather(first, *rest)

        run(work)
        assert [list(map(len, each)) for each in echo.batches[1:]] == [[20, 19, 22], [3, 2, 40]]


def test_other_searches_have_other_batches() -> None:
    with batching() as (batcher, echo):

        async def work() -> Any:
            echo.may_go.clear()
            first = asyncio.create_task(batcher.best(echo, ["first"], SEARCH))
            await until(echo.began.is_set)
            rest = [
                asyncio.create_task(batcher.best(echo, ["wide"], Search(beam_size=7))),
                asyncio.create_task(batcher.best(echo, ["narrow"], SEARCH)),
                asyncio.create_task(batcher.scored(echo, ["x", "y"], SEARCH)),
            ]
            await until(lambda: batcher.waiting == 4)
            echo.may_go.set()
            return await asyncio.gather(first, *rest)

        run(work)
        assert sorted(echo.batches[1:]) == [["narrow"], ["wide"], ["x", "y"]]


def test_a_full_queue_refuses_unhurriedly_and_says_when_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("regard.serve.http.refusal.UNHURRIED_SECONDS", (0.2, 0.3))
    with batching(waiting=16) as (batcher, echo):

        async def work() -> Refusal:
            echo.may_go.clear()
            first = asyncio.create_task(batcher.best(echo, ["first"], SEARCH))
            await until(echo.began.is_set)
            second = asyncio.gather(
                *(batcher.best(echo, [f"a{i}", f"b{i}"], SEARCH) for i in range(4))
            )
            await until(lambda: batcher.waiting == 8)
            begun = time.monotonic()
            with pytest.raises(Refusal) as refused:
                await batcher.best(echo, ["c"], SEARCH)
            assert time.monotonic() - begun > 0.19
            assert batcher.waiting == 8
            echo.may_go.set()
            await asyncio.gather(first, second)
            return refused.value

        refusal = run(work)
        assert refusal.status == 503
        assert refusal.retry_after_seconds is not None
        # An empty queue admits a request longer than the queue.
        assert run(lambda: batcher.best(echo, ["x"] * 9, SEARCH)) == ["X"] * 9
        assert batcher.waiting == 0


@pytest.mark.parametrize("length", [1, 9_900])
def test_one_caller_does_not_fill_the_queue(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr("regard.serve.http.refusal.UNHURRIED_SECONDS", (0.0, 0.01))
    with batching(waiting=64) as (batcher, echo):

        async def ask(caller: str, sentences: list[str]) -> list[str]:
            CALLER.set(caller)
            return await batcher.best(echo, sentences, SEARCH)

        async def work() -> None:
            echo.may_go.clear()
            first = asyncio.create_task(ask("many", ["m"]))
            await until(echo.began.is_set)  # so that no thread takes any of the others
            many = [asyncio.create_task(ask("many", ["m"] * length)) for _ in range(100)]
            await until(lambda: sum(each.done() for each in many) >= 100 - 33)
            refused = [each for each in many if each.done()]
            assert all(isinstance(each.exception(), Refusal) for each in refused)
            few = asyncio.create_task(ask("few", ["f"]))
            await asyncio.sleep(0.1)
            echo.may_go.set()
            assert await few == ["F"]
            assert len(refused) < len(many)  # what was admitted is answered or given up
            for each in many:
                each.cancel()
            await asyncio.gather(first, *many, return_exceptions=True)

        run(work)


def test_a_long_request_leaves_room_for_others_of_its_caller() -> None:
    with batching(waiting=64) as (batcher, echo):

        async def work() -> None:
            echo.may_go.clear()
            long = asyncio.create_task(batcher.best(echo, ["m"] * 9_900, SEARCH))
            await until(echo.began.is_set)
            short = asyncio.create_task(batcher.best(echo, ["s"], SEARCH))
            await until(lambda: batcher.waiting == 9_900 - 8 + 1)
            echo.may_go.set()
            assert await short == ["S"]
            assert not long.done()
            long.cancel()

        run(work)


def test_what_nobody_waits_for_is_never_begun() -> None:
    with batching(together=2) as (batcher, echo):

        async def work() -> None:
            echo.may_go.clear()
            gone = asyncio.create_task(batcher.best(echo, ["g"] * 50, SEARCH))
            await until(echo.began.is_set)
            gone.cancel()
            with pytest.raises(asyncio.CancelledError):
                await gone
            assert batcher.waiting == 0
            echo.may_go.set()
            assert await batcher.best(echo, ["next"], SEARCH) == ["NEXT"]

        run(work)
        assert echo.batches == [["g", "g"], ["next"]]
        assert echo.given_up == 1


def test_only_those_fail_that_fail_alone() -> None:
    with batching() as (batcher, echo):

        async def work() -> list[Any]:
            echo.may_go.clear()
            first = asyncio.create_task(batcher.best(echo, ["first"], SEARCH))
            await until(echo.began.is_set)
            others = [
                asyncio.create_task(batcher.best(echo, [text], SEARCH))
                for text in ("good", "poison", "better")
            ]
            await until(lambda: batcher.waiting == 3)
            echo.may_go.set()
            return list(await asyncio.gather(first, *others, return_exceptions=True))

        first, good, failed, better = run(work)
        assert (first, good, better) == (["FIRST"], ["GOOD"], ["BETTER"])
        assert isinstance(failed, ValueError)


def test_threads_end_when_told() -> None:
    before = threading.active_count()
    with batching(threads=3):
        assert threading.active_count() == before + 3
    assert threading.active_count() == before


def test_an_answer_is_the_same_in_any_company(live: Live) -> None:
    """Compare every text, and every bit of the scores, alone and among up to 60 others."""
    draw = random.Random(1)
    letters = "abcdeghiklnopqrstuvxz ,"
    texts = ["".join(draw.choices(letters, k=draw.randint(1, 30))) for _ in range(60)]
    translator = live.translator("fr", "en")
    alone = {text: translator.texts([text], translator.search)[0] for text in texts}
    batcher = live.service.batcher

    async def work() -> None:
        scored = {
            t: await batcher.scored(translator, [unmarked(t)], translator.search) for t in texts[:8]
        }
        for _ in range(12):
            company = draw.sample(texts, draw.randint(1, 60))
            needle = draw.choice(texts[:8])
            *found, again = await asyncio.gather(
                *(batcher.best(translator, [text], translator.search) for text in company),
                batcher.scored(translator, [unmarked(needle)], translator.search),
            )
            assert [each[0] for each in found] == [alone[text] for text in company]
            assert again == scored[needle]

    run(work)


def test_batches_really_form(live: Live) -> None:
    translator = live.translator("en", "fr")
    sizes: list[int] = []
    batcher = Batcher(1, 1000, observe=lambda sentences, seconds: sizes.append(sentences))

    async def work() -> None:
        await asyncio.gather(
            *(batcher.best(translator, [f"text {i}"], translator.search) for i in range(40))
        )

    run(work)
    batcher.stop()
    assert sum(sizes) == 40
    assert max(sizes) >= 10


def test_callers_take_turns_however_many_requests_one_has() -> None:
    async def work() -> None:
        with batching(waiting=200) as (batcher, echo):
            echo.may_go.clear()
            many = [asyncio.create_task(asked(batcher, echo, "many", f"m{n}")) for n in range(90)]
            await asyncio.sleep(0.05)
            one = asyncio.create_task(asked(batcher, echo, "one", "alone"))
            await asyncio.sleep(0.05)
            echo.may_go.set()
            assert await asyncio.wait_for(one, 30) == ["ALONE"]
            await asyncio.gather(*many)
            (place,) = [n for n, batch in enumerate(echo.batches) if "alone" in batch]
            assert place == 1  # right after the batch that was being translated

    asyncio.run(work())


def test_who_had_much_work_waits_for_who_had_less() -> None:
    async def work() -> None:
        with batching(together=1) as (batcher, echo):
            echo.may_go.clear()
            first = asyncio.create_task(asked(batcher, echo, "long", "x" * 900))
            await asyncio.sleep(0.05)
            others = [
                asyncio.create_task(asked(batcher, echo, caller, text))
                for caller, text in (("long", "y" * 900), ("short", "a"), ("short", "b"))
            ]
            await asyncio.sleep(0.05)
            echo.may_go.set()
            await asyncio.gather(first, *others)
            assert [batch[0][0] for batch in echo.batches[1:]].index("y") > 0

    asyncio.run(work())


def test_a_queue_filled_by_others_has_room_for_who_has_little() -> None:
    async def work() -> None:
        with batching(waiting=20, together=1) as (batcher, echo):
            echo.may_go.clear()
            tasks = [
                asyncio.create_task(asked(batcher, echo, f"big {n % 2}", "a")) for n in range(40)
            ]
            await asyncio.sleep(0.05)
            small = asyncio.create_task(asked(batcher, echo, "small", "b"))
            await asyncio.sleep(0.05)
            echo.may_go.set()
            assert await asyncio.wait_for(small, 30) == ["B"]
            found = await asyncio.gather(*tasks, return_exceptions=True)
            assert any(isinstance(each, Refusal) for each in found)

    asyncio.run(work())


async def asked(batcher: Batcher, echo: Any, caller: str, text: str) -> list[str]:
    CALLER.set(caller)
    return await batcher.best(echo, [text], SEARCH)
