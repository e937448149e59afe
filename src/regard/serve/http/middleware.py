"""Around everything: headers, errors in one sentence, the log, the metrics."""

import asyncio
import json
import math
import sys
import time
import traceback
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.http.access_log import AccessLog
from regard.serve.http.metrics import Metrics
from regard.serve.http.protocol import CONNECTION
from regard.serve.http.refusal import TOO_LONG, Refusal

CLOSED_BY_CLIENT = 499  # as nginx logs it
SEND_SECONDS = 30.0
# Requests that begin in one round of the event loop. When hundreds come at once, whoever looks
# after the server is still answered between them.
BEGIN_AT_ONCE = 8
HEALTH = "/health"
HEADERS = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-headers", b"Authorization, Content-Type"),
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-max-age", b"1728000"),
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]


class Outermost:
    """The application that the server calls."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log: AccessLog | None) -> None:
        self._app = app
        self._metrics = metrics
        self._log = log
        self._turns = asyncio.Semaphore(BEGIN_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        status, size = CLOSED_BY_CLIENT, 0

        async def sending(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], *HEADERS]}
            size += len(message.get("body", b""))
            async with asyncio.timeout(SEND_SECONDS):
                await send(message)

        connection = scope.get(CONNECTION)
        if connection is not None:
            connection.answering = asyncio.current_task()
        self._metrics.in_flight.inc()
        try:
            if scope["path"] != HEALTH:
                async with self._turns:
                    await asyncio.sleep(0)
            await self._answer(scope, receive, sending)
        except (asyncio.CancelledError, ClientDisconnect, TimeoutError):
            status = CLOSED_BY_CLIENT  # nobody reads on; there is nothing left to say
        finally:
            if connection is not None:
                connection.answering = None
            self._metrics.in_flight.dec()
            self._note(scope, status, size, time.perf_counter() - start)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        began = False

        async def noting(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            if scope["method"] == "OPTIONS":
                await Response(status_code=204)(scope, receive, noting)
            else:
                await self._app(scope, receive, noting)
            return
        except Refusal as error:
            refusal = error.with_traceback(None)  # which would hold this frame, and the frame it
        except HTTPException as error:
            refusal = Refusal(error.status_code, str(error.detail))
        except TimeoutError:
            refusal = Refusal(503, TOO_LONG, 1)
        except ClientDisconnect:
            raise
        except Exception:  # a fault of ours: one request fails, the server goes on
            traceback.print_exc(file=sys.stderr)
            refusal = Refusal(500, "the server failed to answer; its log says why")
        if not began:
            await refused(path, refusal)(scope, receive, send)

    def _note(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        route = scope.get("regard.route", "other")
        self._metrics.requests.labels(route, status).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        if self._log is not None:
            client = scope.get("client")
            self._log.write(
                {
                    "address": client[0] if client else None,
                    "key": scope.get("regard.key"),
                    "method": scope["method"],
                    "route": route,
                    "status": status,
                    "milliseconds": round(seconds * 1000, 1),
                    "characters": scope.get("regard.characters", 0),
                    "bytes": size,
                }
            )


def json_response(value: Any, status: int = 200) -> Response:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Response(body.encode("utf-8", "replace"), status, media_type="application/json")


def refused(path: str, refusal: Refusal) -> Response:
    """In the shape that the clients of each interface read."""
    sentence = str(refusal)
    if path.startswith("/v1/"):
        kind = "invalid_request_error" if refusal.status < 500 else "server_error"
        shown: Any = {"error": {"message": sentence, "type": kind, "param": None, "code": None}}
    elif path.startswith("/v2/"):
        shown = {"message": sentence}
    else:
        shown = {"error": sentence}
    response = json_response(shown, refusal.status)
    if refusal.retry_after_seconds is not None:
        response.headers["retry-after"] = str(max(1, math.ceil(refusal.retry_after_seconds)))
    return response
