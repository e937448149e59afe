"""The pages are served as they are."""

import pytest

from regard.serve.api.pages import PAGES, PARTS
from tests.serve.conftest import Live


@pytest.mark.parametrize("path", [*PAGES, *(f"/page/{name}" for name in PARTS)])
def test_pages_hold_nothing_from_elsewhere(live: Live, path: str) -> None:
    page = live.client.get(path)
    assert page.status_code == 200
    assert "https://" not in page.text
    assert "innerHTML" not in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]


def test_no_other_file_is_served(live: Live) -> None:
    assert live.client.get("/page/../serve/keys.py").status_code == 404
