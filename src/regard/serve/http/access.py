"""Access to the endpoints: every request is read, then checked for its key and rate limit."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve.http.keys import Keys
from regard.serve.http.limits import Limits, RateLimiter, caller_address
from regard.serve.http.metrics import Metrics
from regard.serve.http.refusal import Refusal
from regard.serve.http.request_fields import RequestFields, read
from regard.serve.http.responses import json_response

# The names under which the interfaces send their texts.
TEXT_FIELDS = ("q", "text", "prompt", "input")


@dataclass(frozen=True)
class Call:
    """One request as an endpoint sees it."""

    request: Request
    fields: RequestFields


# What answers a call: with a response, or with a value to send as JSON.
Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True)
class Endpoint:
    """A path and what answers it. An open endpoint asks for no key and is not rate limited."""

    path: str
    methods: tuple[str, ...]
    handler: Handler
    is_open: bool = False


@dataclass
class Access:
    """Makes the routes of all endpoints, so that no request can go around the checks."""

    limits: Limits
    keys: Keys
    rates: RateLimiter
    metrics: Metrics

    def route(self, endpoint: Endpoint) -> Route:
        async def answer(request: Request) -> Response:
            request.scope["regard.route"] = endpoint.path
            fields = await read(request, self.limits.body_bytes)
            if not endpoint.is_open:
                self.check(request, fields.values)
            async with asyncio.timeout(self.limits.request_seconds):
                result = await endpoint.handler(Call(request, fields))
            return result if isinstance(result, Response) else json_response(result)

        return Route(endpoint.path, answer, methods=list(endpoint.methods))

    def check(self, request: Request, values: dict[str, Any]) -> None:
        """Require a key where the server has keys, and count the texts of the request."""
        caller = f"address {caller_address(request.client.host)}" if request.client else "unknown"
        if self.keys:
            secret = key_of(request, values)
            if not secret:
                raise missing_key(request.url.path)
            key = self.keys.find(secret)
            if key is None:
                self.rates.spend(caller, 1)  # so that keys cannot be guessed by trying
                raise Refusal(401 if expects_401(request.url.path) else 403, "Invalid API key")
            request.scope["regard.key"] = key.name
            caller = f"key {key.digest.hex()}"
        given = next((values[name] for name in TEXT_FIELDS if name in values), None)
        texts = given if isinstance(given, list) else [given]
        self.rates.spend(caller, max(1, len(texts)))
        characters = sum(len(text) for text in texts if isinstance(text, str))
        request.scope["regard.characters"] = characters
        self.metrics.characters.inc(characters)


def key_of(request: Request, values: dict[str, Any]) -> str:
    """The key that came with a request, in any of the places where clients put it."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in ("bearer", "deepl-auth-key") and credentials.strip():
        return credentials.strip()
    for name in ("api_key", "apiKey", "auth_key"):
        if isinstance(values.get(name), str) and values[name]:
            return str(values[name])
    return ""


def expects_401(path: str) -> bool:
    return path.startswith("/v1/") or path == "/metrics"


def missing_key(path: str) -> Refusal:
    status = 401 if expects_401(path) else 403 if path.startswith("/v2/") else 400
    return Refusal(status, "Please contact the server operator to get an API key")
