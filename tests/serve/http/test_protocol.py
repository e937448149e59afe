"""Slow, large and malformed requests are refused, and do not disturb others."""

import json
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from tests.serve.conftest import Live
from tests.serve.http.conftest import QUICK, connection, everything

BODY = b'{"q": "the cat", "source": "fr", "target": "en"}'


def head(path: str = "/translate", *lines: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"POST /transl",
        b"\r\n",
        b"POST /translate HTTP/1.1\r\nHost: localhost\r\nX: y",
        head("/translate", "Content-Type: application/json", "Content-Length: 49") + b'{"q": ',
        head("/translate", "Transfer-Encoding: chunked") + b"5\r\nab",
    ],
)
def test_a_request_that_does_not_arrive_ends(quick: Live, begun: bytes) -> None:
    with connection(quick) as sock:
        sock.sendall(begun)
        start = time.monotonic()
        assert status(everything(sock)) == 408
        assert time.monotonic() - start < 60


def test_bytes_now_and_then_do_not_keep_a_request_alive(quick: Live) -> None:
    with connection(quick) as sock:
        for letter in b"POST /translate HTTP/1.1\r\nX-Long-Header: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":
            try:
                sock.sendall(bytes([letter]))
            except (BrokenPipeError, ConnectionResetError):
                break
            time.sleep(0.1)
        else:
            pytest.fail("the connection stayed open")


def test_slow_connections_do_not_keep_others_waiting(quick: Live) -> None:
    slow = [socket.create_connection(("127.0.0.1", quick.port)) for _ in range(20)]
    try:
        for sock in slow:
            sock.sendall(b"POST /translate HTTP/1.1\r\nHost:")
        assert quick.client.get("/health").status_code == 200
        found = quick.client.post("/translate", content=BODY)
        assert found.status_code == 200
    finally:
        for sock in slow:
            sock.close()


def test_there_is_an_end_to_connections(quick: Live) -> None:
    held = []
    try:
        for _ in range(QUICK.connections + 5):
            held.append(socket.create_connection(("127.0.0.1", quick.port), timeout=10))
        assert status(everything(held[-1])) == 503
    finally:
        for sock in held:
            sock.close()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(quick.server.server_state.connections) > 5:
        time.sleep(0.02)
    assert quick.client.get("/health").status_code == 200


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_one_address_leaves_connections_for_others(quick: Live) -> None:
    most = QUICK.connections * 3 // 4
    held = []
    try:
        for _ in range(most + 2):
            held.append(socket.create_connection(("127.0.0.1", quick.port), timeout=10))
        assert status(everything(held[-1])) == 503
        other = socket.create_connection(
            ("127.0.0.1", quick.port), timeout=10, source_address=("127.0.0.2", 0)
        )
        held.append(other)
        other.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert status(everything(other)) == 200
    finally:
        for sock in held:
            sock.close()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(quick.server.server_state.connections) > 5:
        time.sleep(0.02)


def test_a_long_body_is_refused_before_it_is_read(quick: Live) -> None:
    with connection(quick) as sock:
        sock.sendall(head("/translate", "Content-Length: 10000000000"))
        assert status(sock.recv(65536)) == 413
        sent = 0
        try:
            while sent < 5_000_000:
                sent += sock.send(b"x" * 65536)
        except OSError:
            pass
        else:
            pytest.fail("the body was read to its end")


CHUNKED = head("/translate", "Content-Type: application/json", "Transfer-Encoding: chunked")


@pytest.mark.parametrize(
    ("opening", "repeated"),
    [
        (b"0\r\n", b"a: b\r\n" * 1000),
        (b"0\r\na: ", b"b" * 10_000),
        (b"1;a=", b"b" * 10_000),
        (b"0" * 100, b"0" * 10_000),
    ],
    ids=["trailers", "one trailer", "extension", "size"],
)
def test_what_surrounds_a_body_is_bounded(quick: Live, opening: bytes, repeated: bytes) -> None:
    with connection(quick) as sock:
        sock.sendall(CHUNKED + opening)
        sent = 0
        try:
            while sent < 20_000_000:
                sent += sock.send(repeated)
        except OSError:
            pass
        else:
            pytest.fail("all of it was read")
    assert quick.client.get("/health").status_code == 200


def test_chunks_of_one_byte_and_a_trailer_are_answered(live: Live) -> None:
    chunks = b"".join(b"1\r\n%b\r\n" % BODY[at : at + 1] for at in range(len(BODY)))
    closing = CHUNKED.replace(b"Host: localhost", b"Host: localhost\r\nConnection: close")
    with connection(live) as sock:
        sock.sendall(closing + chunks + b"0\r\nX-Checksum: 7\r\n\r\n")
        assert status(everything(sock)) == 200


def test_an_endless_body_is_cut_off(quick: Live) -> None:
    with connection(quick) as sock:
        sock.sendall(head("/translate", "Transfer-Encoding: chunked"))
        chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            sock.sendall(chunk * 5000)


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (head("/translate", "X: " + "y" * 100_000), {431}),
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", {431}),
        (head("/translate", *(f"X{i}: y" for i in range(500))), {431}),
        (
            head("/translate", "Content-Length: 5", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
            {400},
        ),
        (head("/translate", "Content-Length: 5", "Content-Length: 6") + b"hello!", {400}),
        (head("/translate", "Transfer-Encoding: xchunked") + b"0\r\n\r\n", {400}),
        (head("/translate", "Content-Length: -5") + b"hello", {400}),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", {400}),
        (b"GET / HTTP/9.9\r\n\r\n", {400, 505}),
        (b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
        (
            b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            {200, 204, 400, 404},
        ),
    ],
)
def test_malformed_requests_are_refused(
    quick: Live, request_bytes: bytes, expected: set[int]
) -> None:
    with connection(quick) as sock:
        with suppress(OSError):
            sock.sendall(request_bytes)
        answer = everything(sock)
        assert status(answer) in expected
        assert len(answer) < 2000
    assert quick.client.get("/health").status_code == 200


def test_requests_may_follow_each_other_in_one_connection(quick: Live) -> None:
    asked = head("/translate", "Content-Type: application/json", f"Content-Length: {len(BODY)}")
    last = asked.replace(b"Host: localhost", b"Host: localhost\r\nConnection: close")
    with connection(quick) as sock:
        sock.sendall((asked + BODY) * 3 + last + BODY)
        assert everything(sock).count(b"translatedText") == 4


def test_work_stops_when_the_client_goes_away(quick: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = quick.translator("fr", "en")
    begun, texts = threading.Event(), translator.texts
    counts: list[int] = []

    def slowly(sentences: Any, search: Any, stopped: Any) -> list[str]:
        begun.set()
        counts.append(len(sentences))
        time.sleep(0.3)
        return texts(sentences, search)

    monkeypatch.setattr(translator, "texts", slowly)
    body = json.dumps({"q": "a cat. " * 200, "source": "fr", "target": "en"}).encode()
    with connection(quick) as sock:
        sock.sendall(
            head("/translate", "Content-Type: application/json", f"Content-Length: {len(body)}")
        )
        sock.sendall(body)
        assert begun.wait(20)
    deadline = time.monotonic() + 60
    while quick.service.batcher.waiting and time.monotonic() < deadline:
        time.sleep(0.01)
    assert quick.service.batcher.waiting == 0
    time.sleep(0.5)
    assert sum(counts) < 200
