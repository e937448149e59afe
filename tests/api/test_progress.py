"""What a training shows: a live line in a terminal, a bar in a notebook, nothing elsewhere."""

import os
import pty
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import regard
from tests.api.conftest import REVIEWS, TINY


def test_nothing_is_shown_where_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    regard.train(labelled=REVIEWS, out="run", settings=TINY)
    assert capfd.readouterr() == ("", "")


CODE = f"""
import regard
reviews = [(f"film {{n}} is {{word}}", word) for n in range(60) for word in ("good", "bad")]
regard.train(labelled=reviews, out="run", settings={TINY!r}, progress=PROGRESS)
"""


@pytest.mark.parametrize("progress", [True, False])
def test_a_terminal_shows_what_the_command_shows(progress: bool) -> None:
    mine, theirs = pty.openpty()
    code = CODE.replace("PROGRESS", str(progress))
    done = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(mine, 65536):
            shown += part
    except OSError:  # Linux says that the other end is closed
        pass
    os.close(mine)
    assert done.wait() == 0, shown.decode()
    if progress:
        assert "texts to learn from" in shown.decode()
        assert "The run is in run" in shown.decode()
    else:
        assert shown == b""


def test_a_notebook_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel's shell has a `kernel`; what is displayed is drawn again under its id."""
    display: Any = pytest.importorskip("IPython.display")
    import IPython

    drawn: list[dict[str, str]] = []
    handle = SimpleNamespace(update=lambda bundle, raw: drawn.append(bundle))

    def show(bundle: dict[str, str], raw: bool, display_id: bool) -> Any:
        assert raw
        assert display_id
        drawn.append(bundle)
        return handle

    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr(display, "display", show)
    rows = [(text.replace("film", "<b>"), label) for text, label in REVIEWS]
    regard.train(labelled=rows, out=Path("<run>"), settings=TINY)
    assert "update 0 of 4" in drawn[0]["text/plain"]
    last = drawn[-1]
    assert "update 4 of 4" in last["text/plain"]
    assert 'value="4" max="4"' in last["text/html"]
    assert "The run is in &lt;run&gt;." in last["text/html"]
    before = len(drawn)
    regard.train(labelled=rows, out=Path("<run>"), settings=TINY, progress=False)
    assert len(drawn) == before
