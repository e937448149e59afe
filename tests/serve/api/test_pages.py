"""The pages are served as they are."""

from tests.serve.conftest import Live


def test_pages_hold_nothing_from_elsewhere(live: Live) -> None:
    for path in ("/", "/docs", "/page/style.css", "/page/translate.js", "/page/docs.js"):
        page = live.client.get(path)
        assert page.status_code == 200
        assert "https://" not in page.text
        assert "innerHTML" not in page.text
        assert "default-src 'self'" in page.headers["content-security-policy"]
    assert live.client.get("/page/../serve/keys.py").status_code == 404
