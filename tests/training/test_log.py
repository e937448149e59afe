"""log.jsonl: a damaged line is named, and is not taken for a result."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard.cli import main
from regard.files import SCRATCH
from regard.recipe import Recipe
from regard.studio.metrics import read_on
from regard.training.events import Note
from regard.training.log import Log, damaged_lines, entry_of, line_of, remarks
from regard.training.run import training_run

ENTRY = {"event": "step", "step": 7, "loss": 1.25, "grad_norm": None, "samples": [{"source": "é"}]}


def test_a_line_is_read_as_it_was_written() -> None:
    assert entry_of(line_of(ENTRY)) == ENTRY
    assert entry_of(json.dumps(ENTRY).encode()) == ENTRY  # as earlier versions wrote it
    assert entry_of(line_of({**ENTRY, "source": "half \ud800"})) is not None


def test_every_changed_bit_of_a_line_is_found_or_changes_nothing() -> None:
    line = line_of(ENTRY)
    for position in range(len(line)):
        for bit in range(8):
            changed = bytearray(line)
            changed[position] ^= 1 << bit
            found = entry_of(bytes(changed))
            assert found in (None, ENTRY)


@pytest.mark.parametrize(
    "line", [b"[" * 100_000, b"7", b"{}", b'{"event": "step", "step": "x"}', b"\xff", b""]
)
def test_what_is_no_entry_is_none(line: bytes) -> None:
    assert entry_of(line) is None


def damage(folder: Path, number: int) -> None:
    path = folder / "log.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[number - 1] = lines[number - 1].replace(b'"loss": ', b'"loss": 1', 1)
    path.write_bytes(b"\n".join(lines))


def test_a_resumed_run_names_damaged_lines(
    copy: Path, tiny: Callable[..., Recipe], log_of: Callable[[Path, str], list[dict[str, Any]]]
) -> None:
    count = len(log_of(copy, "step"))
    damage(copy, 3)
    notes = [
        event.text
        for event in training_run(tiny("train.steps=25"), copy)
        if isinstance(event, Note) and event.warning
    ]
    assert notes == [
        f"{copy / 'log.jsonl'}: damaged in line 3; what it said is lost, and all else is kept"
    ]
    assert len(log_of(copy, "step")) == count - 1 + 1


def test_show_and_the_studio_do_not_take_it_for_a_result(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = len(read_on(copy, 0)["events"])
    damage(copy, 3)
    main(["show", str(copy)])
    assert "damaged in line 3" in capsys.readouterr().out
    assert len(read_on(copy, 0)["events"]) == events - 1


def test_half_a_last_line_is_of_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(line_of(ENTRY) + b"\n" + line_of(ENTRY)[:20])
    assert remarks(path) == []
    assert damaged_lines(path) == []
    Log(tmp_path, 9, tensorboard=False)
    assert path.read_bytes() == line_of(ENTRY) + b"\n"


def test_the_next_start_of_a_finished_run_removes_what_a_killed_one_left(
    copy: Path, tiny: Callable[..., Recipe]
) -> None:
    (copy / f"{SCRATCH}abc").mkdir()
    (copy / f"{SCRATCH}abc" / "run.json").write_text("half")
    (event,) = training_run(tiny(), copy)
    assert isinstance(event, Note)
    assert "is finished" in event.text
    assert not list(copy.glob(f"{SCRATCH}*"))


def test_a_log_that_is_one_endless_line_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"")
    os.truncate(path, 3 << 30)
    assert damaged_lines(path) == [1]
