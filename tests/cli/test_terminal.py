"""What a stranger wrote does not steer the terminal that it is drawn on."""

import re
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from regard.cli.display import say, talk
from regard.cli.terminal import Terminal

ROOT = Path(__file__).resolve().parent.parent.parent
HOSTILE = "a\x1b]0;pwned\x07\x1b[2J\x9b31m\u202eb"


def test_control_characters_are_replaced_wherever_they_are_drawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = Table(HOSTILE, box=None)
    table.add_row(Text(HOSTILE, style="red"))
    for drawn in (HOSTILE, Text(HOSTILE), table):
        Terminal(soft_wrap=True).print(drawn)
    say(HOSTILE)
    talk().print(f"  {HOSTILE}")
    printed = capsys.readouterr()
    shown = [line.strip() for line in printed.out.split("\n")]
    # Rich itself leaves out the bell, and takes other control characters for nothing wide.
    assert shown[:2] == ["a\ufffd]0;pwned\ufffd[2J\ufffd31m\ufffdb"] * 2
    assert [line[:12] for line in shown[2:]] == ["a\ufffd]0;pwned\ufffd["] * 2 + [""]
    assert printed.err.count("pwned") == 2
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", printed.out + printed.err)


def test_colours_stay_and_texts_are_no_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    Terminal().print("[bold]a[/bold] :smile: \x1b[2J", style="red")
    printed = capsys.readouterr().out
    assert re.fullmatch(r"\x1b\[31m\[bold\]a\[/bold\] :smile: \ufffd\[2J\x1b\[0m\n", printed)


def test_no_command_draws_without_it() -> None:
    paths = [path for path in (ROOT / "src").rglob("*.py") if path.name != "terminal.py"]
    assert [path.name for path in paths if re.search(r"\bConsole\(", path.read_text("utf-8"))] == []
