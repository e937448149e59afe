"""The server holds: against slow, large, malformed and unwelcome requests."""

import io
import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.routing import Route

from regard.serve.app import build, table
from regard.serve.http.access import Door
from regard.serve.http.access_log import AccessLog
from regard.serve.http.keys import Key, Keys, digest
from regard.serve.http.limits import Limits, Rates
from regard.serve.http.metrics import Metrics
from tests.serve.conftest import Live, Start

KEY = "a-key-of-some-length"
QUICK = Limits(
    body_bytes=10_000,
    header_seconds=2,
    body_seconds=2,
    request_seconds=20,
    connections=40,
    texts_per_minute=10**6,
)
BODY = b'{"q": "the cat", "source": "fr", "target": "en"}'
OPEN = {
    *("/", "/docs", "/spec", "/health", "/languages", "/frontend/settings"),
    *("/page/style.css", "/page/translate.js", "/page/docs.js", "/download_file/{name}"),
}


@pytest.fixture(scope="module")
def quick(start: Start) -> Live:
    return start(QUICK)


@pytest.fixture(scope="module")
def locked(start: Start) -> Live:
    return start(Limits(texts_per_minute=5), secrets={KEY: "weblate", "another-long-key": "other"})


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


def head(path: str = "/translate", *lines: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode()


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"POST /transl",
        b"\r\n",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nX: y",
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
    slow = [socket.create_connection(("127.0.0.1", quick.port)) for _ in range(30)]
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
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and len(quick.server.server_state.connections) > 5:
        time.sleep(0.02)
    assert quick.client.get("/health").status_code == 200


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
        (b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
        (b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", {200, 204, 400, 404}),
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
    last = asked.replace(b"Host: x", b"Host: x\r\nConnection: close")
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
    deadline = time.monotonic() + 10
    while quick.service.batcher.waiting and time.monotonic() < deadline:
        time.sleep(0.01)
    assert quick.service.batcher.waiting == 0
    time.sleep(0.5)
    assert sum(counts) < 200


def test_a_request_has_a_time_limit(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    live = start(Limits(request_seconds=0.3))
    translator = live.translator("fr", "en")
    monkeypatch.setattr(translator, "texts", lambda *_, stopped: time.sleep(1) or [""])
    found = live.client.post("/translate", content=BODY)
    assert found.status_code == 503
    assert "too long" in found.json()["error"]
    assert found.headers["retry-after"]
    monkeypatch.undo()
    time.sleep(1.0)
    assert live.client.post("/translate", content=BODY).status_code == 200


def test_what_goes_wrong_inside_is_not_told(quick: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(sentences: Any, search: Any, stopped: Any) -> list[str]:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(quick.translator("fr", "en"), "texts", fail)
    found = quick.client.post("/translate", content=BODY)
    assert found.status_code == 500
    assert "secret" not in found.text
    assert "Traceback" not in found.text


def every_route(live: Live) -> list[Route]:
    door = Door(live.service, Keys(), Rates(10), Metrics())
    return [door.route(endpoint) for endpoint in table(door)]


def test_every_route_asks_for_the_key(locked: Live) -> None:
    routes = every_route(locked)
    assert len(routes) > 15
    for route in routes:
        for method in sorted((route.methods or set()) - {"HEAD"}):
            found = locked.client.request(method, route.path)
            if route.path in OPEN:
                assert found.status_code in (200, 404), route.path
            else:
                assert found.status_code in (400, 401, 403), route.path
                said = found.json().get("error", found.json().get("message"))
                assert "API key" in (said if isinstance(said, str) else said["message"]), route.path


def test_keys_are_taken_wherever_clients_put_them(start: Start) -> None:
    live = start(secrets={KEY: "weblate"})
    values = {"q": "a", "source": "en", "target": "de"}
    for sent in (
        {"json": {**values, "api_key": KEY}},
        {"json": {**values, "apiKey": KEY}},
        {"data": {**values, "api_key": KEY}},
        {"params": {**values, "api_key": KEY}},
        {"json": values, "headers": {"authorization": f"Bearer {KEY}"}},
        {"json": values, "headers": {"authorization": f"DeepL-Auth-Key {KEY}"}},
    ):
        assert live.client.post("/translate", **sent).status_code == 200  # type: ignore[arg-type]
    missing = live.post("/translate", **values)
    assert missing.status_code == 400
    assert missing.json() == {"error": "Please contact the server operator to get an API key"}
    wrong = live.post("/translate", **values, api_key="wrong-key")
    assert (wrong.status_code, wrong.json()) == (403, {"error": "Invalid API key"})
    assert live.client.get("/metrics").status_code == 401
    allowed = live.client.get("/metrics", headers={"authorization": f"Bearer {KEY}"})
    assert allowed.status_code == 200


def test_each_key_has_an_allowance_and_a_batch_costs_its_texts(locked: Live) -> None:
    values = {"q": ["a", "b", "c", "d"], "source": "en", "target": "en", "api_key": KEY}
    assert locked.post("/translate", **values).status_code == 200
    slowed = locked.post("/translate", **values)
    assert (slowed.status_code, slowed.json()) == (429, {"error": "Slowdown: 5 per 1 minute"})
    assert 1 <= int(slowed.headers["retry-after"]) <= 60
    other = {**values, "api_key": "another-long-key"}
    assert locked.post("/translate", **other).status_code == 200
    for _ in range(10):
        assert locked.client.get("/languages").status_code == 200


def test_an_address_is_believed_of_a_trusted_proxy_only(start: Start) -> None:
    values = {"q": "a", "source": "en", "target": "en"}
    limits = Limits(texts_per_minute=1)
    for trusted, last in (((), 429), (("127.0.0.1",), 200)):
        live = start(limits, trusted_proxies=trusted)
        for address, expected in (("192.0.2.1", 200), ("192.0.2.2", last)):
            headers = {"x-forwarded-for": address}
            found = live.client.post("/translate", json=values, headers=headers)
            assert found.status_code == expected


def test_browsers_of_other_sites_may_ask(live: Live) -> None:
    for found in (
        live.client.options("/translate"),
        live.client.get("/languages"),
        live.client.get("/nowhere"),
        live.client.post("/translate"),
    ):
        assert found.headers["access-control-allow-origin"] == "*"
        assert found.headers["access-control-allow-methods"] == "GET, POST"
        assert found.headers["x-content-type-options"] == "nosniff"
        assert "server" not in found.headers
    assert live.client.options("/translate").status_code == 204


def test_wrong_methods_and_paths(live: Live) -> None:
    assert live.client.get("/translate").status_code == 405
    assert live.client.post("/languages").status_code == 405
    assert live.client.get("/nowhere").status_code == 404
    assert (
        live.client.post(
            "/translate", content="x", headers={"content-type": "text/plain"}
        ).status_code
        == 415
    )
    for path in ("/..%2f..%2fetc/passwd", "/page/..%2fapp.py", "/%00", "//etc/passwd", "/page/"):
        assert live.client.get(path).status_code == 404


def test_the_log_has_no_texts(live: Live) -> None:
    from starlette.testclient import TestClient

    written = io.StringIO()
    keys = Keys([Key(digest(KEY), "weblate")])
    client = TestClient(build(live.service, keys, log=AccessLog(written)))
    values = {"q": "private words", "source": "en", "target": "en", "api_key": KEY}
    client.post("/translate", json=values)
    client.post("/translate?q=private+words&api_key=wrong", json={})
    client.get("/private words")
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["status"] for line in lines] == [200, 403, 404]
    assert lines[0]["characters"] == 13
    assert lines[0]["key"] == "weblate"
    assert lines[0]["route"] == "/translate"
    assert "private" not in written.getvalue()
    assert KEY not in written.getvalue()


def test_metrics_are_what_prometheus_reads(live: Live) -> None:
    live.post("/translate", q="a cat", source="fr", target="en")
    families = {
        family.name: family
        for family in text_string_to_metric_families(live.client.get("/metrics").text)
    }
    answered = {
        (sample.labels["route"], sample.labels["status"]): sample.value
        for sample in families["regard_requests"].samples
        if sample.name.endswith("_total")
    }
    assert answered["/translate", "200"] >= 1
    assert "regard_batch_sentences" in families
    assert families["regard_waiting_sentences"].samples[0].value == 0


def test_any_bytes_are_answered_small_and_never_by_a_failure(quick: Live) -> None:
    draw = random.Random(7)
    pieces = [
        *(
            b"POST ",
            b"GET ",
            b"/translate",
            b"/detect",
            b"/v2/translate",
            b"/translate_file",
            b"?q=",
        ),
        *(
            b" HTTP/1.1\r\n",
            b"\r\n",
            b"Host: x\r\n",
            b"Content-Length: 5\r\n",
            b"%",
            b"%00",
            b"\xff",
        ),
        *(
            b"Content-Type: application/json\r\n",
            b"Content-Type: multipart/form-data\r\n",
            b"{",
            b"}",
        ),
        *(
            b'"q":',
            b'["a"]',
            b"null",
            b"1e999",
            b"Transfer-Encoding: chunked\r\n",
            b"0\r\n\r\n",
            b":",
        ),
        *(
            b"Content-Type: multipart/form-data; boundary=x\r\n",
            b"--x\r\n",
            b"--x--",
            b"Connection: close\r\n",
        ),
    ]
    for _ in range(150):
        request = b"".join(draw.choices(pieces, k=draw.randint(1, 14)))
        with connection(quick) as sock:
            try:
                sock.sendall(request)
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                continue
            answer = everything(sock)
        assert len(answer) < 16_384 or answer.startswith(b"HTTP/1.1 200")
        assert not answer.startswith(b"HTTP/1.1 500"), request
        assert b"Traceback" not in answer


@pytest.mark.parametrize("path", ["/translate", "/detect", "/suggest", "/v2/translate"])
def test_odd_values_are_refused_not_failed(quick: Live, path: str) -> None:
    draw = random.Random(3)
    odd: list[Any] = [
        *(None, 0, -1, 1e308, True, "", "en", "auto", "\x00", "é" * 50, [], {}, [[]], [None], "de"),
        *({"q": "a"}, ["a", "b"], 10**30, "<p>", "html", "\ud800"),
    ]
    names = ["q", "source", "target", "format", "alternatives", "s", "text", "target_lang"]
    names += ["source_lang", "tag_handling", "ignore_tags", "explain", "memory", "api_key"]
    for _ in range(60):
        values = {name: draw.choice(odd) for name in draw.sample(names, draw.randint(1, 8))}
        body = json.dumps(values).encode()
        found = quick.client.post(path, content=body, headers={"content-type": "application/json"})
        assert found.status_code in (200, 400, 403), values
        assert len(found.content) < 16_384


def test_a_place_that_is_taken_is_named() -> None:
    from regard.errors import RequestError
    from regard.serve.server import bound

    with bound("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(RequestError, match="cannot listen there"):
            bound("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(RequestError, match="65535"):
        bound("127.0.0.1", 99999)
