"""Keys and rate limits guard every endpoint."""

import pytest
from starlette.routing import Route

from regard.serve.answers import Answers
from regard.serve.api.pages import PAGES, PARTS
from regard.serve.app import Endpoints
from regard.serve.http.access import Access
from regard.serve.http.keys import Keys
from regard.serve.http.limits import Limits, RateLimiter
from regard.serve.http.metrics import Metrics
from regard.serve.translation.files import Downloads
from tests.serve.conftest import Live, Start

KEY = "a-key-of-some-length"


OPEN = {
    *PAGES,
    *("/spec", "/health", "/ready", "/languages", "/listPairs", "/frontend/settings"),
    *(f"/page/{name}" for name in PARTS),
    "/download_file/{name}",
}


@pytest.fixture(scope="module")
def locked(start: Start) -> Live:
    return start(Limits(texts_per_minute=5), secrets={KEY: "weblate", "another-long-key": "other"})


def every_route(live: Live) -> list[Route]:
    access = Access(Limits(), Keys(), RateLimiter(10), Metrics())
    return [
        access.route(endpoint)
        for endpoint in Endpoints(Answers(live.service), access, Downloads(1)).table()
    ]


def test_every_route_asks_for_the_key(start: Start) -> None:
    locked = start(secrets={KEY: "weblate"})
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


def test_every_line_counts(start: Start) -> None:
    live = start(Limits(texts_per_minute=100))
    lines = {"q": "a\n" * 80, "source": "en", "target": "en"}
    assert live.post("/translate", **lines).status_code == 200
    assert live.post("/translate", **lines).status_code == 429


def test_a_long_line_counts_by_its_characters(start: Start) -> None:
    live = start(Limits(texts_per_minute=50))
    asked = {"q": "a" * 20_000, "source": "en", "target": "en"}
    assert live.post("/translate", **asked).status_code == 200
    assert live.post("/translate", **asked).status_code == 429


def test_what_takes_no_work_costs_nothing(start: Start) -> None:
    live = start(Limits(texts_per_minute=2), secrets={KEY: "prometheus"})
    live.client.headers["authorization"] = f"Bearer {KEY}"
    for path in ("/metrics", "/v1/models", "/v2/usage") * 3:
        assert live.client.get(path).status_code == 200
    assert live.post("/translate", q="a", source="en", target="en").status_code == 200


def test_requests_without_a_key_are_counted_and_do_not_cost_those_with_one(start: Start) -> None:
    live = start(Limits(texts_per_minute=3), secrets={KEY: "weblate"})
    values = {"q": "a", "source": "en", "target": "en"}
    found = [live.post("/translate", **values).status_code for _ in range(5)]
    assert found == [400, 400, 400, 429, 429]
    headers = {"authorization": f"Bearer {KEY}"}
    assert live.client.post("/translate", json=values, headers=headers).status_code == 200


def test_a_form_may_have_letters_as_they_are(live: Live) -> None:
    form = "q=été&source=fr&target=fr".encode()
    headers = {"content-type": "application/x-www-form-urlencoded"}
    found = live.client.post("/translate", content=form, headers=headers)
    assert found.json()["translatedText"] == "été"
    assert live.client.post("/translate", content=b"q=\xff", headers=headers).status_code == 400


def test_an_address_is_believed_of_a_trusted_proxy_only(start: Start) -> None:
    values = {"q": "a", "source": "en", "target": "en"}
    limits = Limits(texts_per_minute=1)
    for trusted, last in (((), 429), (("127.0.0.1",), 200)):
        live = start(limits, trusted_proxies=trusted)
        for address, expected in (("192.0.2.1", 200), ("192.0.2.2", last)):
            headers = {"x-forwarded-for": address}
            found = live.client.post("/translate", json=values, headers=headers)
            assert found.status_code == expected
