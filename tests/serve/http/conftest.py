"""A server with short time limits, and raw connections to it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from regard.serve.http.limits import Limits
from tests.serve.conftest import Live, Start

QUICK = Limits(
    body_bytes=10_000,
    header_seconds=2,
    body_seconds=2,
    request_seconds=20,
    connections=40,
    texts_per_minute=10**6,
)


@pytest.fixture(scope="module")
def quick(start: Start, image_runs: dict[str, Path]) -> Live:
    return start(QUICK, more_runs=tuple(image_runs.values()))


@contextmanager
def connection(live: Live) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", live.port), timeout=20) as sock:
        yield sock


def everything(sock: socket.socket) -> bytes:
    """All that is sent until the connection is closed."""
    received = bytearray()
    while True:
        try:
            data = sock.recv(65536)
        except ConnectionResetError:
            return bytes(received)
        if not data:
            return bytes(received)
        received += data
