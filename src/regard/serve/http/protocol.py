"""Limits on how long and how large an incoming request may be.

uvicorn limits how long a connection may be idle between requests, but not how long a request may
take to arrive: a byte now and then keeps the connection open. The application cannot help, since
it is called only when the head is complete. So uvicorn's protocol is extended here.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from regard.serve.http.limits import Limits, caller_address

# The key under which an application finds its connection in the scope.
CONNECTION = "regard.connection"
# How many times the longest body is read of a refused one and discarded. A sender reads the refusal
# only after its last byte, and loses it if the connection is closed before.
LEFTOVER_BODIES = 4
# A chunk of one byte has four of framing, and its size may have zeros in front.
FRAMING_PER_BODY_BYTE = 8
# The connections of one address are this part of all at most; the rest is for others.
CONNECTION_SHARE = 3 / 4

# So many bytes are taken from a connection at once. asyncio takes four times as many, which is much
# memory when hundreds of connections send at once.
READ_BYTES = 64 << 10


def bounded_protocol(limits: Limits, proxies: Sequence[str] = ()) -> type[asyncio.Protocol]:
    """uvicorn's protocol over httptools, with limits on what it receives."""
    values = {"limits": limits, "proxies": frozenset(proxies), "of_callers": Counter()}
    return type("BoundedProtocol", (_BoundedProtocol,), values)


class _BoundedProtocol(HttpToolsProtocol):
    limits: ClassVar[Limits]
    proxies: ClassVar[frozenset[str]]  # addresses that send the requests of many
    of_callers: ClassVar[Counter[str]]  # connections of each address
    caller = ""
    answering: asyncio.Task[None] | None = None
    _deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _leftover_bytes = 0
    _message_bytes = 0  # after the head
    _body_bytes = 0  # of these
    _receiving_head = True

    def connection_made(self, transport: Any) -> None:
        if hasattr(transport, "max_size"):
            transport.max_size = READ_BYTES
        super().connection_made(transport)
        self._count(1)
        of_caller = self.of_callers[self.caller]
        most = self.limits.connections
        if len(self.connections) > most or (self.caller and of_caller > CONNECTION_SHARE * most):
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
            if self._leftover_bytes > LEFTOVER_BODIES * self.limits.body_bytes:
                self.transport.close()
                return
        self._message_bytes += len(data)
        super().data_received(data)
        framing = self._message_bytes - self._body_bytes
        if not self._receiving_head and framing > (
            self.limits.header_bytes + FRAMING_PER_BODY_BYTE * self._body_bytes
        ):
            # Chunks may have extensions and trailers of any length, and no caller needs them.
            self._refuse(431, b"the request has too much beside its body")
        if self._receiving_head and self._head_bytes > self.limits.header_bytes:
            self._refuse(431, b"the head of the request is too long")

    def on_headers_complete(self) -> None:
        limits = self.limits
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > limits.header_bytes or len(self.headers) > limits.header_count:
            self._refuse(431, b"the head of the request is too long")
            raise ValueError("too long")  # ends the parsing
        self._receiving_head = False
        self._head_bytes = self._leftover_bytes = self._message_bytes = self._body_bytes = 0
        self._set_deadline(limits.body_seconds)
        scope: dict[str, Any] = self.scope  # type: ignore[assignment]
        scope[CONNECTION] = self
        super().on_headers_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._receiving_head:  # trailers are dropped: they would be added to the headers
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._receiving_head = True
        self._set_deadline(None)
        super().on_message_complete()

    def _count(self, change: int) -> None:
        """Count the connections of each address. Who sends for others is not counted."""
        if change > 0 and self.client and self.client[0] not in self.proxies:
            self.caller = caller_address(self.client[0])
        self.of_callers[self.caller] += change
        if not self.of_callers[self.caller]:
            del self.of_callers[self.caller]

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_deadline(None)
        self._count(-1)
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
        if not self._receiving_head and self.cycle.response_complete:
            self.transport.close()  # this request has its answer
            return
        body = b'{"error": "' + sentence + b'"}'
        self.transport.write(
            b"HTTP/1.1 %d \r\ncontent-type: application/json\r\n%b"
            b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (status, header, len(body), body)
        )
        self.transport.close()
