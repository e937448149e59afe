"""Long work is named in a pipe, too."""

import time

import pytest

from regard.cli import display


def test_long_work_says_how_far_it_is_where_nobody_looks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "NAMED_SECONDS", 0.01)
    said: list[str] = []
    monkeypatch.setattr(display, "say", said.append)
    with display.SCREEN.progress("measuring heads", 12) as advance:
        advance(3)
        deadline = time.monotonic() + 60
        while not said and time.monotonic() < deadline:
            time.sleep(0.01)
    assert said[0].startswith("measuring heads: 3 of 12")


def test_short_work_is_not_named(capsys: pytest.CaptureFixture[str]) -> None:
    with display.SCREEN.progress("measuring heads", 12) as advance:
        advance(12)
    assert capsys.readouterr().err == ""
