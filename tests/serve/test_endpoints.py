"""What LibreTranslate's clients ask for is answered as LibreTranslate answers it."""

from pathlib import Path

import pytest

from regard.serve.limits import Limits
from tests.serve.conftest import Live, Start


def test_a_text_is_answered_by_the_offline_translation(live: Live) -> None:
    found = live.post("/translate", q="the cat sleeps", source="fr", target="en")
    assert found.status_code == 200
    (expected,) = live.translator("fr", "en").translate(["the cat sleeps"])
    assert found.json() == {"translatedText": expected}
    assert expected
