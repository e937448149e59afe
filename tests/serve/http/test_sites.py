"""Pages of other sites, and names that somebody else chose, cannot reach a server without keys."""

from typing import Any

import pytest

from regard.serve.http.sites import Sites, usual_sites
from tests.serve.conftest import Live, Start
from tests.serve.http.conftest import connection, everything

KEY = "a-key-of-some-length"
FOREIGN = "https://foreign.example"


@pytest.fixture(scope="module")
def remembering(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Live:
    return start(suggestions=tmp_path_factory.mktemp("suggestions"))


def test_a_page_of_another_site_cannot_ask(remembering: Live) -> None:
    suggestion = {"q": "chat", "s": "poison", "source": "fr", "target": "en"}
    for origin in (FOREIGN, "null", "http://127.0.0.1:1"):
        headers = {"origin": origin}
        client = remembering.client
        for found in (
            client.post("/suggest", data=suggestion, headers=headers),  # a form needs no preflight
            client.options("/suggest", headers=headers),
            client.get("/metrics", headers=headers),
            client.get("/languages", headers=headers),
        ):
            assert found.status_code == 403
            assert "access-control-allow-origin" not in found.headers
    memory = remembering.service.memory
    assert memory is not None
    assert memory.find("fr", "en", "chat") is None


def test_its_own_pages_and_programs_can(remembering: Live) -> None:
    values = {"q": "a", "source": "en", "target": "en"}
    for headers in ({}, {"origin": remembering.url}):
        assert remembering.client.post("/translate", json=values, headers=headers).is_success
    proxied = {"host": "localhost:5000", "origin": "https://localhost:5000"}
    assert remembering.client.post("/translate", json=values, headers=proxied).is_success


def test_with_keys_any_page_may_ask_that_has_one(start: Start) -> None:
    live = start(secrets={KEY: "page"})
    headers = {"origin": FOREIGN, "authorization": f"Bearer {KEY}"}
    values = {"q": "a", "source": "en", "target": "en"}
    found = live.client.post("/translate", json=values, headers=headers)
    assert (found.status_code, found.headers["access-control-allow-origin"]) == (200, "*")
    preflight = live.client.options("/translate", headers={"origin": FOREIGN})
    assert preflight.status_code == 204
    assert "Authorization" in preflight.headers["access-control-allow-headers"]
    assert live.client.get("/metrics", headers={"origin": FOREIGN}).status_code == 401


@pytest.mark.parametrize("host", ["foreign.example", "127.0.0.1.foreign.example:5000", "[", "x:y"])
def test_a_name_that_leads_here_is_not_answered(live: Live, host: str) -> None:
    for path in ("/languages", "/metrics", "/"):
        found = live.client.get(path, headers={"host": host, "origin": f"http://{host}"})
        assert found.status_code == 421
        assert host not in found.text


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1:5000", "127.0.0.2", "[::1]"]
)
def test_names_of_this_machine_are_answered(live: Live, host: str) -> None:
    assert live.client.get("/languages", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (b"GET /health HTTP/1.1\r\n", 400),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n", 400),
        (b"GET /health HTTP/1.1\r\nHost:\r\n", 400),
        (b"GET /health HTTP/1.0\r\n", 200),
    ],
)
def test_a_request_names_one_host(live: Live, lines: bytes, status: int) -> None:
    with connection(live) as sock:
        sock.sendall(lines + b"Connection: close\r\n\r\n")
        assert everything(sock).startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize(
    ("host", "has_keys", "behind_proxy", "answers"),
    [
        ("127.0.0.1", False, False, False),
        ("localhost", False, False, False),
        ("::1", False, False, False),
        ("0.0.0.0", False, False, True),
        ("127.0.0.1", True, False, True),
        ("127.0.0.1", False, True, True),
    ],
)
def test_only_a_server_for_this_machine_is_particular_about_its_name(
    host: str, has_keys: bool, behind_proxy: bool, answers: bool
) -> None:
    sites = usual_sites(host, has_keys, behind_proxy)
    assert ("*" in sites.hosts) is answers
    assert ("*" in sites.origins) is has_keys


def test_a_site_may_be_allowed() -> None:
    sites = Sites(origins=frozenset({FOREIGN}))
    asked = [(b"host", b"translate.example"), (b"origin", FOREIGN.encode())]
    found: Any = dict(sites.check(asked, "1.1"))
    assert found[b"access-control-allow-origin"] == FOREIGN.encode()
    assert found[b"vary"] == b"Origin"
