"""The outermost layer of the application: headers, errors, the access log and the metrics."""

import asyncio
import time
import traceback

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.http.access import RATE_HEADERS
from regard.serve.http.access_log import AccessLog
from regard.serve.http.limits import caller_address
from regard.serve.http.metrics import Metrics
from regard.serve.http.protocol import CONNECTION
from regard.serve.http.refusal import FAILED, TIMED_OUT, Refusal
from regard.serve.http.request_ids import HEADER, request_id
from regard.serve.http.responses import error_response
from regard.serve.http.sites import Sites
from regard.serve.http.turns import Starts

CLIENT_CLOSED_REQUEST = 499  # as nginx logs it
SEND_SECONDS = 30.0
# How many requests may start in one round of the event loop.
MAX_STARTS_PER_ROUND = 8
HEALTH = "/health"
# The key under which a scope has the headers for pages of other sites.
SITE_HEADERS = "regard.site-headers"
ID = "regard.request-id"
HEADERS = [
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

    def __init__(self, app: ASGIApp, metrics: Metrics, log: AccessLog, sites: Sites) -> None:
        self._app = app
        self._sites = sites
        self._metrics = metrics
        self._log = log
        self._starts = Starts(MAX_STARTS_PER_ROUND)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        scope[ID] = request_id(scope["headers"])
        status, size = CLIENT_CLOSED_REQUEST, 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                rates = scope.get(RATE_HEADERS, {}).items()
                more = [*HEADERS, *scope.get(SITE_HEADERS, ()), (HEADER, scope[ID].encode())]
                more += [(name.encode(), value.encode()) for name, value in rates]
                message = {**message, "headers": [*message["headers"], *more]}
            size += len(message.get("body", b""))
            async with asyncio.timeout(SEND_SECONDS):
                await send(message)

        connection = scope.get(CONNECTION)
        if connection is not None:
            connection.answering = asyncio.current_task()
        self._metrics.in_flight.inc()
        try:
            if scope["path"] != HEALTH:
                await self._starts.wait(address_of(scope))
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
            headers = self._sites.check(scope["headers"], scope.get("http_version", "1.1"))
            scope[SITE_HEADERS] = headers
            if scope["method"] == "OPTIONS":
                await Response(status_code=204)(scope, receive, send_and_note)
            else:
                await self._app(scope, receive, send_and_note)
            return
        except Refusal as error:
            # Its traceback would hold this frame, which holds the refusal.
            refusal = error.with_traceback(None)
        except HTTPException as error:
            refusal = Refusal(error.status_code, str(error.detail), headers=error.headers)
        except TimeoutError:
            refusal = Refusal(503, TIMED_OUT, 1)
        except ClientDisconnect:
            raise
        except Exception:  # a fault of ours: this request fails, the server continues
            self._log.fault(traceback.format_exc())
            refusal = Refusal(500, FAILED)
        if not started:
            await error_response(path, refusal)(scope, receive, send)

    def _record(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        route = scope.get("regard.route", "other")
        self._metrics.requests.labels(route, status).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        client = scope.get("client")
        self._log.request(
            {
                "request": scope[ID],
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


def address_of(scope: Scope) -> str:
    """Who sends a request, as far as that shows before it is read."""
    client = scope.get("client")
    return caller_address(client[0]) if client else ""
