"""Bodies in memory are bounded, before a key is known and after."""

import base64
import json
import random
import socket
import tempfile
import threading
from contextlib import ExitStack
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import pytest

from regard.serve.http import free_memory, request_fields
from regard.serve.http.bodies import FREE_BYTES, BodyBudget, Caller
from regard.serve.http.limits import Limits
from regard.serve.http.refusal import Refusal
from tests.data import odd_images
from tests.serve.conftest import Live, Start
from tests.serve.http.conftest import everything

KEY = "a-key-of-some-length"
KNOWN, OTHER = Caller("key 1"), Caller("key 2")
STRANGERS = [Caller(f"address {number}", is_known=False) for number in range(9)]


@pytest.fixture(scope="module")
def locked(start: Start) -> Live:
    return start(Limits(held_bytes=800_000, texts_per_minute=10**6), secrets={KEY: "weblate"})


def head(path: str, size: int, *lines: str) -> bytes:
    all_lines = ["Host: localhost", "Content-Type: application/json", f"Content-Length: {size}"]
    return "\r\n".join([f"POST {path} HTTP/1.1", *all_lines, *lines, "", ""]).encode()


def test_a_caller_has_a_share_and_gives_it_back() -> None:
    budget = BodyBudget(800_000)
    with budget.account(KNOWN) as first, budget.account(KNOWN) as second:
        first.take(200_000 + FREE_BYTES)
        with pytest.raises(Refusal) as refused:
            second.take(FREE_BYTES + 1)
        assert refused.value.status == 503
        with budget.account(OTHER) as other:
            other.take(200_000)
    assert budget.held == 0


def test_all_callers_together_have_an_end() -> None:
    budget = BodyBudget(100_000)
    with ExitStack() as stack:
        for number in range(4):
            account = stack.enter_context(budget.account(Caller(str(number))))
            account.take(25_000 + FREE_BYTES)
        last = stack.enter_context(budget.account(Caller("last")))
        last.take(FREE_BYTES)
        with pytest.raises(Refusal):
            last.take(1)


def test_strangers_leave_room_for_those_with_a_key() -> None:
    budget = BodyBudget(800_000)
    with ExitStack() as stack:
        accounts = [stack.enter_context(budget.account(each)) for each in STRANGERS]
        for account in accounts[:2]:
            account.take(100_000 + FREE_BYTES)
        for account in accounts[2:]:
            with pytest.raises(Refusal):
                account.take(100_000 + FREE_BYTES)
        stack.enter_context(budget.account(KNOWN)).take(200_000)


@pytest.mark.parametrize(
    ("path", "lines", "status"),
    [
        ("/v1/completions", (), 401),
        ("/v1/embeddings", ("Authorization: Bearer wrong-key",), 401),
        ("/translate", ("Authorization: Bearer wrong-key",), 403),
        ("/translate?api_key=wrong-key", (), 403),
    ],
)
def test_a_key_in_the_head_is_checked_before_the_body(
    locked: Live, path: str, lines: tuple[str, ...], status: int
) -> None:
    with socket.create_connection(("127.0.0.1", locked.port), timeout=20) as sock:
        sock.sendall(head(path, 100_000, *lines))
        assert sock.recv(65536).startswith(b"HTTP/1.1 %d " % status)


def test_bodies_without_a_key_are_refused_when_they_take_too_much(locked: Live) -> None:
    body = json.dumps({"q": "a" * 80_000, "source": "en", "target": "en"}).encode()
    held = []
    try:
        for _ in range(3):
            sock = socket.create_connection(("127.0.0.1", locked.port), timeout=20)
            held.append(sock)
            sock.sendall(head("/translate", len(body), "Connection: close") + body[:-1])
        assert everything(held[-1]).startswith(b"HTTP/1.1 503 ")
        headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
        known = locked.client.post("/translate", content=body, headers=headers)
        assert "exceeds text limit" in known.json()["error"]  # it was read
    finally:
        for sock in held:
            sock.close()
    # What is given back can be taken again.
    assert locked.client.post("/translate", content=body).status_code == 400


@pytest.mark.parametrize("value", ["[]", "{}", "0", '""'])
def test_more_values_than_any_request_needs_are_not_read(live: Live, value: str) -> None:
    body = f'{{"q": [{f"{value}," * 1_000_000}0]}}'
    found = live.client.post("/translate", content=body)
    assert (found.status_code, found.json()["error"]) == (400, "Invalid request: too many values")


def test_a_form_is_read_as_the_standard_library_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_fields, "SLICE_BYTES", 5)
    draw = random.Random(4)
    pieces = [b"%C3%A9", b"%", b"%4", b"+", b"&", b"=", b"a", "é".encode(), b"%ff", b"%25", b"%zz"]
    for _ in range(500):
        form = b"".join(draw.choices(pieces, k=draw.randint(0, 20)))
        expected = parse_qsl(form.decode(), keep_blank_values=True)
        assert request_fields.parse_form(form) == expected


def test_a_form_of_escapes_is_read_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard library makes an object of every escape: 70 MB for this form."""
    lengths: list[int] = []

    def noted(text: bytes) -> bytes:
        lengths.append(len(text))
        return unquote_to_bytes(text)

    monkeypatch.setattr(request_fields, "unquote_to_bytes", noted)
    ((_, value),) = request_fields.parse_form(b"q=" + b"%41" * 300_000)
    assert value == "A" * 300_000
    assert max(lengths) <= request_fields.SLICE_BYTES


def test_memory_is_given_back_after_long_requests(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_back = threading.Event()
    monkeypatch.setattr(free_memory, "SECONDS", 0.1)
    monkeypatch.setattr(free_memory, "trim", given_back.set)
    live.post("/translate", q="a" * 100_000, source="en", target="en")
    assert given_back.wait(60)


def test_long_bodies_are_parsed_beside_the_event_loop(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    for name in ("add_json", "add_form", "read_multipart"):
        original = getattr(request_fields, name)

        def noted(*arguments: Any, original: Any = original) -> None:
            threads.append(threading.current_thread().name)
            original(*arguments)

        monkeypatch.setattr(request_fields, name, noted)
    values = {"q": "a" * 100_000, "source": "en", "target": "en"}
    for sent in ({"json": values}, {"data": values}, {"data": values, "files": {"file": b"a"}}):
        live.client.post("/translate", **sent)  # type: ignore[arg-type]
    assert len(threads) == 3
    assert all(name.startswith("asyncio_") for name in threads)


def test_a_file_is_never_written_to_the_disk(
    monkeypatch: pytest.MonkeyPatch, start: Start, image_runs: Any
) -> None:
    def refuse(file: Any) -> None:
        raise AssertionError("written to the disk")

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", refuse)
    live = start(more_runs=tuple(image_runs.values()))
    data = odd_images.saved(odd_images.scene(), "PNG") + b"\0" * 2_000_000
    found = live.client.post("/classify", files={"file": ("a.png", data)})
    assert found.status_code == 200
    as_text = base64.b64encode(data).decode()
    assert live.post("/classify", image=as_text).json() == found.json()
