"""What the models are asked: a request after its checks, without anything of HTTP."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from starlette.responses import Response

from regard.serve.http.request_fields import RequestFields


@dataclass(frozen=True)
class Question:
    path: str  # of the endpoint
    fields: RequestFields = field(default_factory=RequestFields)
    caller: str = ""
    has_keys: bool = False  # whether the server requires a key


# What answers: the models themselves, or the worker process that has them. It raises a Refusal
# where the answer is no.
Answerer: TypeAlias = Callable[[Question], Awaitable[Response]]
