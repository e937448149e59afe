"""How the server and its worker talk: frames over a pair of sockets.

A frame is a head in JSON and any number of bytes, such as the files of a request or the body of an
answer. Both sides may send at any time; a number in the head says which request a frame is about.
"""

import asyncio
import json
import struct
from collections.abc import Callable
from typing import Any, TypeAlias, cast

Head: TypeAlias = "dict[str, Any]"
_LENGTHS = struct.Struct("!II")  # of the head, and of what follows it


def encoded(head: Head) -> bytes:
    # Half a surrogate pair, which JSON can hold, has no UTF-8: the head is ASCII.
    return json.dumps(head, separators=(",", ":")).encode("ascii")


class Frames(asyncio.Protocol):
    """One side of the connection. Whoever receives a frame must not wait."""

    def __init__(self, received: Callable[[Head, bytes], None], lost: Callable[[], None]) -> None:
        self._received = received
        self._lost = lost
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._lost()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        start, size = 0, len(self._buffer)
        while size - start >= _LENGTHS.size:
            head_length, length = _LENGTHS.unpack_from(self._buffer, start)
            at = start + _LENGTHS.size
            if size - at < head_length + length:
                break
            head = json.loads(self._buffer[at : at + head_length])
            start = at + head_length + length
            self._received(head, bytes(self._buffer[at + head_length : start]))
        del self._buffer[:start]

    def send(self, head: Head, data: bytes = b"") -> None:
        """Send a frame. What is sent after the connection is lost goes nowhere."""
        self.send_encoded(encoded(head), data)

    def send_encoded(self, head: bytes, data: bytes = b"") -> None:
        if self._transport is not None:
            self._transport.write(b"".join((_LENGTHS.pack(len(head), len(data)), head, data)))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
