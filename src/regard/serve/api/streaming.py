"""Answers in events, which keep to the time limit as whole answers do."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from regard.serve.http.refusal import TIMED_OUT, Refusal
from regard.serve.http.responses import error_body

DONE = b"data: [DONE]\n\n"


def event(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


async def within(
    seconds: float, values: AsyncGenerator[dict[str, Any], None], path: str
) -> AsyncGenerator[bytes, None]:
    """An event for each value, until the time is over. What goes wrong is the last event."""
    deadline = asyncio.get_running_loop().time() + seconds
    try:
        async with aclosing(values):
            while True:
                async with asyncio.timeout_at(deadline):
                    value = await anext(values, None)
                if value is None:
                    break
                yield event(value)
    except Refusal as refusal:
        yield event(error_body(path, refusal))
    except TimeoutError:
        yield event(error_body(path, Refusal(503, TIMED_OUT)))
    yield DONE
