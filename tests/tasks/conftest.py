"""What all tests of tasks count on."""

import pytest

from regard.machine import memory


@pytest.fixture(autouse=True)
def usual_allocation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training tunes the C library for its whole process, which here runs other tests too."""
    monkeypatch.setattr(memory, "keep_big_buffers", lambda: False)
