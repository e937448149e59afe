"""The outermost layer of the application: headers, errors, the access log and the metrics."""

import asyncio
import sys
import time
import traceback

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.http.access_log import AccessLog
from regard.serve.http.metrics import Metrics
from regard.serve.http.protocol import CONNECTION
from regard.serve.http.refusal import TIMED_OUT, Refusal
from regard.serve.http.responses import error_response

CLIENT_CLOSED_REQUEST = 499  # as nginx logs it
SEND_SECONDS = 30.0
# How many requests may start in one round of the event loop. When hundreds arrive at once, health
# checks are still answered between them.
MAX_STARTS_PER_ROUND = 8
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


class OuterMiddleware:
    """The application that the server calls. It answers every exception that the application
    inside raises, and records every request.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, log: AccessLog | None) -> None:
        self._app = app
        self._metrics = metrics
        self._log = log
        self._starts = asyncio.Semaphore(MAX_STARTS_PER_ROUND)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        status, size = CLIENT_CLOSED_REQUEST, 0

        async def send_with_headers(message: Message) -> None:
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
                async with self._starts:
                    await asyncio.sleep(0)
            await self._answer(scope, receive, send_with_headers)
        except (asyncio.CancelledError, ClientDisconnect, TimeoutError):
            status = CLIENT_CLOSED_REQUEST  # nobody reads the rest of the response
        finally:
            if connection is not None:
                connection.answering = None
            self._metrics.in_flight.dec()
            self._record(scope, status, size, time.perf_counter() - start)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            if scope["method"] == "OPTIONS":
                await Response(status_code=204)(scope, receive, send_and_note)
            else:
                await self._app(scope, receive, send_and_note)
            return
        except Refusal as error:
            # Its traceback would hold this frame, which holds the refusal.
            refusal = error.with_traceback(None)
        except HTTPException as error:
            refusal = Refusal(error.status_code, str(error.detail))
        except TimeoutError:
            refusal = Refusal(503, TIMED_OUT, 1)
        except ClientDisconnect:
            raise
        except Exception:  # a fault of ours: this request fails, the server continues
            traceback.print_exc(file=sys.stderr)
            refusal = Refusal(500, "the server failed to answer; its log says why")
        if not started:
            await error_response(path, refusal)(scope, receive, send)

    def _record(self, scope: Scope, status: int, size: int, seconds: float) -> None:
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
