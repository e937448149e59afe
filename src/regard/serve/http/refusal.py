"""The error with which a request is refused."""

import asyncio
import random
from collections.abc import Mapping

from regard.errors import RequestError

TIMED_OUT = "the request took too long; send less at once"
FAILED = "the server failed to answer; its log says why"


class Refusal(RequestError):
    """An HTTP status and one sentence, which never repeats what was sent."""

    def __init__(
        self,
        status: int,
        sentence: str,
        retry_after_seconds: float | None = None,
        headers: Mapping[str, str] | None = None,
    ):
        super().__init__(sentence)
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.headers = dict(headers or {})


# A refusal after which clients usually ask again comes after a random time between these: hundreds
# of clients that are refused at once, and at once ask again, would leave no time for others.
UNHURRIED_SECONDS = (0.5, 1.5)


async def take_time() -> None:
    await asyncio.sleep(random.uniform(*UNHURRIED_SECONDS))
