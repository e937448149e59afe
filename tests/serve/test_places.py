"""Where the server is reached: a socket in a folder, a path of another site, a port for metrics."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from regard.errors import RequestError
from regard.serve.answers import Answers
from regard.serve.app import build, build_for_operators
from regard.serve.http.keys import Keys
from regard.serve.http.limits import Limits
from regard.serve.http.metrics import Metrics
from regard.serve.http.request_ids import request_id
from regard.serve.http.root_path import under
from regard.serve.http.sites import Sites
from regard.serve.listeners import bind_unix, listening
from regard.serve.server import outermost, sites_of
from regard.serve.settings import Settings
from tests.serve.conftest import Live

ASKED = {"q": "the cat", "source": "fr", "target": "en"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A name for a socket, which must be short."""
    monkeypatch.chdir(tmp_path)
    return Path("regard.sock")


def test_a_socket_is_for_its_owner_and_group_and_goes_with_the_server(place: Path) -> None:
    with listening("", 0, place) as listener:
        assert place.stat().st_mode & 0o777 == 0o660
        listener.close()  # as the server does when it stops
    assert not place.exists()
    with listening("", 0, place):
        place.unlink()
        place.write_text("of another")
    assert place.read_text() == "of another"


def test_a_socket_that_was_left_behind_is_replaced_and_no_other_file(place: Path) -> None:
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(place))
    left.close()
    listener = bind_unix(place)
    listener.listen()
    with pytest.raises(RequestError, match=r"regard\.sock: another server listens there"):
        bind_unix(place)
    listener.close()
    place.unlink()
    place.write_text("mine")
    with pytest.raises(RequestError, match="there is something else under this name"):
        bind_unix(place)
    assert place.read_text() == "mine"
    with pytest.raises(RequestError, match="cannot listen there"):
        bind_unix(place.parent / "nowhere" / "regard.sock")


def test_a_client_at_a_socket_has_the_address_that_its_proxy_says() -> None:
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["client"])

    async def ask(*trusted: str) -> None:
        settings = Settings((), unix_socket=Path("x"), trusted_proxies=trusted)
        headers = [(b"x-forwarded-for", b"203.0.113.9, 192.0.2.7")]
        scope = {"type": "http", "path": "/", "headers": headers, "client": None}
        await outermost(app, settings)(scope, None, None)  # type: ignore[arg-type]

    asyncio.run(ask())
    asyncio.run(ask("unix"))
    assert [each[0] for each in seen] == ["unix", "192.0.2.7"]


def test_the_path_of_another_site_is_taken_away_and_given_back(live: Live) -> None:
    app = under("/mt", build(Answers(live.service), Limits()))
    client = TestClient(app)
    expected = live.post("/translate", **ASKED).json()
    assert client.post("/mt/translate", json=ASKED).json() == expected
    assert client.post("/translate", json=ASKED).json() == expected
    assert client.get("/mt", follow_redirects=False).headers["location"].endswith("/mt/")
    assert client.get("/mtx").status_code == 404
    assert client.get("/mt/v1/models/x").json()["error"]["message"].startswith("no such model")
    files = {"file": ("a.txt", b"the cat")}
    values = {"source": "fr", "target": "en"}
    url = client.post("/mt/translate_file", data=values, files=files).json()["translatedFileUrl"]
    assert "/mt/download_file/" in url
    assert client.get(url).status_code == 200


def test_metrics_may_have_a_port_of_their_own(live: Live) -> None:
    metrics = Metrics()
    answers = Answers(live.service)
    apart = TestClient(build_for_operators(answers, Limits(), metrics))
    main = TestClient(build(answers, Limits(), metrics=metrics, metrics_apart=True))
    assert main.get("/metrics").status_code == 404
    assert main.get("/health").status_code == 200
    found = apart.get("/metrics").text
    assert 'regard_requests_total{route="/health",status="200"} 1.0' in found
    assert "regard_batch_sentences" in found
    assert [apart.get(path).status_code for path in ("/ready", "/health")] == [200, 200]
    assert apart.post("/translate", json=ASKED).status_code == 404


def test_names_and_sites_that_are_given_take_the_place_of_the_usual_ones() -> None:
    given = Settings((), allowed_hosts=("MT.example.org",), cors_origins=("https://a.example/",))
    assert sites_of(given, Keys()) == Sites(
        frozenset({"mt.example.org"}), frozenset({"https://a.example"})
    )
    assert sites_of(Settings(()), Keys()) == Sites(frozenset({"127.0.0.1"}), frozenset())


def test_settings_reach_the_worker_as_they_are() -> None:
    settings = Settings(
        ("a", "en:de=b"),
        usage=Path("/u"),
        unix_socket=Path("s"),
        allowed_hosts=("x",),
        limits=Limits(texts=3),
    )
    assert Settings.from_json(settings.to_json()) == settings


@pytest.mark.parametrize("given", ["abc-1", "0f/9:x.y_z=+@", "x" * 128])
def test_a_harmless_request_id_is_kept(given: str) -> None:
    assert request_id([(b"x-request-id", given.encode())]) == given


@pytest.mark.parametrize("given", [[], [b""], [b"a b"], [b"x" * 129], [b'"'], [b"a", b"b"]])
def test_any_other_request_gets_an_id(given: list[bytes]) -> None:
    headers = [(b"x-request-id", each) for each in given]
    first, second = request_id(headers), request_id(headers)
    assert len(first) == 16
    assert first != second


def test_the_id_and_what_is_left_of_the_limit_come_with_every_answer(live: Live) -> None:
    found = live.client.post("/translate", json=ASKED, headers={"x-request-id": "mine-7"})
    assert found.headers["x-request-id"] == "mine-7"
    assert found.headers["ratelimit-limit"] == "6000"
    assert 0 < int(found.headers["ratelimit-remaining"]) < 6000
    assert int(found.headers["ratelimit-reset"]) >= 1
    assert len(live.client.get("/nowhere").headers["x-request-id"]) == 16
