"""Every request is answered with its headers, and recorded without its texts."""

import asyncio
import gc
import io
import json
import threading
import time
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from regard.serve.answers import Answers
from regard.serve.app import build
from regard.serve.http.access_log import MAX_WAITING, AccessLog
from regard.serve.http.keys import Key, Keys, digest
from regard.serve.http.limits import Limits
from regard.serve.http.metrics import Metrics
from regard.serve.http.middleware import OuterMiddleware
from regard.serve.http.refusal import Refusal
from regard.serve.http.sites import Sites
from tests.serve.conftest import Live, Start

KEY = "a-key-of-some-length"


BODY = b'{"q": "the cat", "source": "fr", "target": "en"}'


def test_what_goes_wrong_inside_is_not_told(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(sentences: Any, search: Any, stopped: Any) -> list[str]:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(live.translator("fr", "en"), "texts", fail)
    found = live.client.post("/translate", content=BODY)
    assert found.status_code == 500
    assert "secret" not in found.text
    assert "Traceback" not in found.text


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


def test_every_answer_has_its_headers(live: Live) -> None:
    for found in (
        live.client.options("/translate"),
        live.client.get("/languages"),
        live.client.get("/nowhere"),
        live.client.post("/translate"),
    ):
        assert found.headers["x-content-type-options"] == "nosniff"
        assert "server" not in found.headers
    assert live.client.options("/translate").status_code == 204


def test_wrong_methods_and_paths(live: Live) -> None:
    for method, path, allowed in (("GET", "/suggest", "POST"), ("POST", "/languages", "GET")):
        found = live.client.request(method, path)
        assert found.status_code == 405
        assert allowed in found.headers["allow"].split(", ")
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
    log = AccessLog(written)
    client = TestClient(build(Answers(live.service), Limits(), keys, log=log))
    values = {"q": "private words", "source": "en", "target": "en", "api_key": KEY}
    client.post("/translate", json=values)
    client.post("/translate?q=private+words&api_key=wrong", json={})
    client.get("/private words")
    log.close(60)
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


class Unread(io.StringIO):
    """A pipe that is full until somebody reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_read = threading.Event()

    def write(self, text: str) -> int:
        assert self.is_read.wait(60)
        return super().write(text)


def test_a_log_that_nobody_reads_stops_nothing_and_counts_what_it_drops() -> None:
    pipe = Unread()
    log = AccessLog(pipe)
    for _ in range(MAX_WAITING + 500):
        log.request({"status": 200})
    pipe.is_read.set()
    log.close(60)
    log.request({"status": 200})
    log.close(60)
    lines = [json.loads(line) for line in pipe.getvalue().splitlines()]
    assert len([line for line in lines if "status" in line]) == MAX_WAITING + 500 + 1 - sum(
        line.get("dropped", 0) for line in lines
    )
    assert any(line.get("dropped", 0) > 400 for line in lines)


def test_a_refusal_leaves_nothing_to_collect() -> None:
    """A traceback that holds its own frame waits for the garbage collector, which stops all."""

    class Ours(Refusal):  # servers of other tests may still hold refusals of theirs
        pass

    async def refusing(scope: Any, receive: Any, send: Any) -> None:
        raise Ours(503, "the server is busy; try again", 1)

    async def nothing(*message: Any) -> None:
        return None

    app = OuterMiddleware(refusing, Metrics(), AccessLog(quiet=True), Sites())
    scope = {"type": "http", "method": "POST", "path": "/translate"}
    scope["headers"] = [(b"host", b"localhost")]
    gc.collect()
    gc.disable()
    try:
        asyncio.run(app(scope, nothing, nothing))  # type: ignore[arg-type]
        left = [each for each in gc.get_objects() if type(each) is Ours]
    finally:
        gc.enable()
    assert not left
