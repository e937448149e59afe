"""Limits on how long and how large an incoming request may be.

uvicorn limits how long a connection may be idle between requests, but not how long a request may
take to arrive: a byte now and then keeps the connection open. The application cannot help, since
it is called only when the head is complete. So uvicorn's protocol is extended here.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from regard.serve.http.limits import Limits

# The key under which an application finds its connection in the scope.
CONNECTION = "regard.connection"
# How much of a refused body is read and discarded, so that the sender can read the refusal.
MAX_LEFTOVER_BYTES = 64 << 10


def bounded_protocol(limits: Limits) -> type[asyncio.Protocol]:
    """uvicorn's protocol over httptools, with limits on what it receives."""
    return type("BoundedProtocol", (_BoundedProtocol,), {"limits": limits})


class _BoundedProtocol(HttpToolsProtocol):
    limits: ClassVar[Limits]
    answering: asyncio.Task[None] | None = None
    _deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _leftover_bytes = 0
    _receiving_head = True

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(503, b"too many connections; try again", b"retry-after: 5\r\n")
        else:
            self._set_deadline(self.limits.header_seconds)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._receiving_head:
            if self._deadline is None:
                self._set_deadline(self.limits.header_seconds)
            self._head_bytes += len(data)
        elif self.cycle.response_complete:
            self._leftover_bytes += len(data)
            if self._leftover_bytes > MAX_LEFTOVER_BYTES:
                self.transport.close()
                return
        super().data_received(data)
        if self._receiving_head and self._head_bytes > self.limits.header_bytes:
            self._refuse(431, b"the head of the request is too long")

    def on_headers_complete(self) -> None:
        limits = self.limits
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > limits.header_bytes or len(self.headers) > limits.header_count:
            self._refuse(431, b"the head of the request is too long")
            raise ValueError("too long")  # ends the parsing
        self._receiving_head = False
        self._head_bytes = self._leftover_bytes = 0
        self._set_deadline(limits.body_seconds)
        scope: dict[str, Any] = self.scope  # type: ignore[assignment]
        scope[CONNECTION] = self
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._receiving_head = True
        self._set_deadline(None)
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_deadline(None)
        super().connection_lost(exc)
        if self.answering is not None:
            self.answering.cancel()  # nobody is left to answer

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():  # not after a refusal of ours
            super().send_400_response(msg)

    def _set_deadline(self, seconds: float | None) -> None:
        """Set or clear the time in which the head or the body must be complete."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if seconds is not None:
            self._deadline = self.loop.call_later(seconds, self._deadline_passed)

    def _deadline_passed(self) -> None:
        self._deadline = None
        cycle: Any = self.cycle  # None before the first request
        answering = cycle is not None and not cycle.response_complete
        if answering and self._receiving_head:
            # The next head is in no hurry while the previous request is being answered.
            self._set_deadline(self.limits.header_seconds)
        else:
            self._refuse(408, b"the request took too long to arrive")

    def _refuse(self, status: int, sentence: bytes, header: bytes = b"") -> None:
        if self.transport.is_closing():
            return
        body = b'{"error": "' + sentence + b'"}'
        self.transport.write(
            b"HTTP/1.1 %d \r\ncontent-type: application/json\r\n%b"
            b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (status, header, len(body), body)
        )
        self.transport.close()
