"""What a request passes on its way to an endpoint: its size, its key, its caller's allowance."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve.http.keys import Keys
from regard.serve.http.limits import Rates, network
from regard.serve.http.metrics import Metrics
from regard.serve.http.middleware import json_response
from regard.serve.http.refusal import Refusal
from regard.serve.http.request_fields import Sent, read
from regard.serve.translation.service import Service

Answering = Callable[["Call"], Awaitable[Any]]


# Where the interfaces have their texts.
TEXTS = ("q", "text", "prompt", "input")


@dataclass(frozen=True)
class Call:
    """One request as an endpoint sees it."""

    service: Service
    request: Request
    sent: Sent


@dataclass(frozen=True)
class Endpoint:
    """Closed unless it says that it is open: without a key where keys are asked for, and without
    being counted.
    """

    path: str
    methods: tuple[str, ...]
    answer: Answering
    is_open: bool = False


@dataclass
class Door:
    """Makes routes of endpoints, so that there is no way around it."""

    service: Service
    keys: Keys
    rates: Rates
    metrics: Metrics

    def route(self, endpoint: Endpoint) -> Route:
        async def answer(request: Request) -> Response:
            request.scope["regard.route"] = endpoint.path
            sent = await read(request, self.service.limits.body_bytes)
            if not endpoint.is_open:
                self.admit(request, sent)
            async with asyncio.timeout(self.service.limits.request_seconds):
                result = await endpoint.answer(Call(self.service, request, sent))
            return result if isinstance(result, Response) else json_response(result)

        return Route(endpoint.path, answer, methods=list(endpoint.methods))

    def admit(self, request: Request, sent: Sent) -> None:
        """Ask for a key where there are keys, and count what is asked for."""
        caller = f"address {network(request.client.host)}" if request.client else "unknown"
        if self.keys:
            secret = secret_of(request, sent.fields)
            if not secret:
                raise no_key(request.url.path)
            key = self.keys.find(secret)
            if key is None:
                self.rates.spend(caller, 1)  # so that keys cannot be tried out
                raise Refusal(401 if wants_401(request.url.path) else 403, "Invalid API key")
            request.scope["regard.key"] = key.name
            caller = f"key {key.digest.hex()}"
        asked = next((sent.fields[name] for name in TEXTS if name in sent.fields), None)
        texts = asked if isinstance(asked, list) else [asked]
        self.rates.spend(caller, max(1, len(texts)))
        characters = sum(len(text) for text in texts if isinstance(text, str))
        request.scope["regard.characters"] = characters
        self.metrics.characters.inc(characters)


def secret_of(request: Request, fields: dict[str, Any]) -> str:
    """The key that came with a request, in any of the places clients put it."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in ("bearer", "deepl-auth-key") and credentials.strip():
        return credentials.strip()
    for name in ("api_key", "apiKey", "auth_key"):
        if isinstance(fields.get(name), str) and fields[name]:
            return str(fields[name])
    return ""


def wants_401(path: str) -> bool:
    return path.startswith("/v1/") or path == "/metrics"


def no_key(path: str) -> Refusal:
    status = 401 if wants_401(path) else 403 if path.startswith("/v2/") else 400
    return Refusal(status, "Please contact the server operator to get an API key")
