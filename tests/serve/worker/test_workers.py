"""When the worker is started again, and how another takes over."""

import asyncio
from typing import Any

import pytest
from starlette.responses import Response

from regard.errors import RequestError
from regard.serve.http.metrics import Metrics
from regard.serve.http.refusal import Refusal
from regard.serve.question import Question
from regard.serve.settings import Settings
from regard.serve.worker import workers as module
from regard.serve.worker.connection import Loaded
from regard.serve.worker.workers import Workers

DAMAGED = "run: the weights are damaged"
ASKED = Question("/translate")


class Fake:
    """A worker without a process. `fails` says which of those that start fail."""

    made: list["Fake"]
    fails: set[int]

    def __init__(self, ended: Any) -> None:
        self.ended = ended
        self.drained: float | None = None
        self.pid = len(self.made)
        self.made.append(self)

    async def start(self, settings: Settings) -> Loaded:
        if self.pid in self.fails:
            raise RequestError(DAMAGED)
        return Loaded([f"run {self.pid}"], 0.5)

    async def ask(self, question: Question) -> Response:
        return Response(str(self.pid))

    async def stop(self, drain_seconds: float = 0.0) -> None:
        self.drained = drain_seconds

    def crash(self) -> None:
        self.ended(self, "was ended by SIGSEGV")


class Moment:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self.taken = 0  # times that somebody had to wait for a refusal

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    async def take_time(self) -> None:
        self.taken += 1
        await asyncio.sleep(0)

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def moment(monkeypatch: pytest.MonkeyPatch) -> Moment:
    found = Moment()
    monkeypatch.setattr(Fake, "made", [], raising=False)
    monkeypatch.setattr(Fake, "fails", set(), raising=False)
    monkeypatch.setattr(module, "Worker", Fake)
    monkeypatch.setattr(module, "pause", found.sleep)
    monkeypatch.setattr(module, "take_time", found.take_time)
    monkeypatch.setattr(module.time, "monotonic", found.monotonic)
    return found


async def settled() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


def test_the_wait_for_the_next_start_grows_and_a_steady_worker_forgets_it(moment: Moment) -> None:
    said: list[str] = []

    async def work() -> None:
        workers = Workers(Settings(("run",)), Metrics(), said.append)
        assert await workers.start() == ["run 0"]
        Fake.fails = {2, 3, 4, 5, 6, 7}
        Fake.made[0].crash()
        with pytest.raises(Refusal) as refused:
            await workers(ASKED)
        assert refused.value.status == 503
        assert refused.value.retry_after_seconds == 1
        await settled()
        assert (await workers(ASKED)).body == b"1"
        assert moment.slept == [0]
        Fake.made[1].crash()
        await settled()
        assert moment.slept == [0, 1, 2, 4, 8, 16, 30, 30]
        assert (await workers(ASKED)).body == b"8"
        moment.now += module.STEADY_SECONDS + 1
        Fake.made[8].crash()
        await settled()
        assert moment.slept[8:] == [0]
        await workers.stop()
        assert Fake.made[9].drained == 0

    asyncio.run(work())
    assert said[:3] == [
        "The worker was ended by SIGSEGV; it is started again now",
        "The worker answers again, after 0.5 s",
        "The worker was ended by SIGSEGV; it is started again in 1 s",
    ]
    assert said[3] == f"The worker is started again in 2 s: {DAMAGED}"


def test_a_worker_is_replaced_only_by_one_that_is_ready(moment: Moment) -> None:
    said: list[str] = []

    async def work() -> None:
        workers = Workers(Settings(("run",)), Metrics(), said.append)
        await workers.start()
        Fake.fails = {1}
        await workers.reload()
        assert (await workers(ASKED)).body == b"0"
        await workers.reload()
        assert (await workers(ASKED)).body == b"2"
        await settled()
        assert Fake.made[0].drained == Settings(()).limits.request_seconds
        Fake.made[0].crash()  # while it finishes: nobody else is concerned
        assert (await workers(ASKED)).body == b"2"
        await workers.stop()

    asyncio.run(work())
    assert said == [
        f"The runs were not reloaded, and the models loaded before answer: {DAMAGED}",
        "Reloaded the runs in 0.5 s",
        "A worker that finished its last requests was ended by SIGSEGV",
    ]


def test_a_reload_ends_the_wait_after_a_crash(moment: Moment) -> None:
    async def work() -> None:
        workers = Workers(Settings(("run",)), Metrics(), lambda line: None)
        await workers.start()
        Fake.made[0].crash()
        await workers.reload()
        assert (await workers(ASKED)).body == b"1"
        await settled()
        assert len(Fake.made) == 2
        await workers.stop()

    asyncio.run(work())


def test_who_asks_again_at_once_does_not_slow_the_loading(moment: Moment) -> None:
    async def work() -> None:
        workers = Workers(Settings(("run",)), Metrics(), lambda line: None)
        for question, taken in ((ASKED, 1), (Question("/ready"), 1)):
            with pytest.raises(Refusal):
                await workers(question)
            assert moment.taken == taken  # a health check is answered at once

    asyncio.run(work())
