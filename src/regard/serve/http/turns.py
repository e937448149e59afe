"""Callers who wait take turns, however many requests each of them has."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable


class Turns:
    """Those who wait for something. `unused` is called when somebody left who was given a turn."""

    def __init__(self, unused: Callable[[], object] = lambda: None) -> None:
        self._unused = unused
        # Of each caller who waits, in the order of their turns.
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self.waiting = 0

    def waiting_of(self, caller: str) -> int:
        return len(self._queues.get(caller, ()))

    def callers_with(self, caller: str) -> int:
        """How many callers wait, this one included."""
        return len(self._queues.keys() | {caller})

    async def wait(self, caller: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(caller, deque()).append(turn)
        self.waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._unused()  # it came too late
            raise
        finally:
            self.waiting -= 1

    def give(self) -> bool:
        """Let the caller go on whose turn it is, who then comes last; False if nobody waits."""
        while self._queues:
            caller, queue = self._queues.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._queues[caller] = queue
            if not turn.cancelled():
                turn.set_result(None)
                return True
        return False


class Starts:
    """Lets a few requests start in each round of the event loop. When hundreds arrive at once,
    those of other addresses and health checks are answered between them.
    """

    def __init__(self, each_round: int) -> None:
        self._each_round = each_round
        self._turns = Turns()
        self._is_planned = False

    async def wait(self, address: str) -> None:
        if not self._is_planned:
            self._plan()
        await self._turns.wait(address)

    def _plan(self) -> None:
        self._is_planned = True
        asyncio.get_running_loop().call_soon(self._round)

    def _round(self) -> None:
        self._is_planned = False
        if sum(self._turns.give() for _ in range(self._each_round)):
            self._plan()
