"""What is asked of the machine: a device, a precision, and never a crash to find out."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from regard import machine
from regard.errors import RecipeError

CPU = torch.device("cpu")


def test_auto_takes_the_best_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for cuda, mps, expected in (
        (True, True, "cuda"),
        (False, True, "mps"),
        (False, False, "cpu"),
    ):
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        assert machine.choose_device("auto").type == expected


def test_the_cpu_is_everywhere() -> None:
    assert machine.choose_device("cpu") == CPU


@pytest.mark.parametrize("name", ["moon", "", "cuda:99", "meta", "cpu:x", "xla", "vulkan", "CPU "])
def test_a_device_that_is_not_there_is_said(name: str) -> None:
    with pytest.raises(RecipeError) as raised:
        machine.choose_device(name)
    text = str(raised.value)
    assert f'"{name}"' in text
    assert '"cpu"' in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [("auto", torch.float32), ("float32", torch.float32), ("bfloat16", torch.bfloat16)],
)
def test_precision_on_a_cpu(
    monkeypatch: pytest.MonkeyPatch, asked: str, chosen: torch.dtype
) -> None:
    monkeypatch.setattr(machine, "bfloat16_runs", lambda: True)
    assert machine.choose_precision(asked, CPU) == chosen


def test_precision_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "bfloat16_runs", lambda: pytest.fail("not a CPU"))
    assert machine.choose_precision("auto", torch.device("cuda")) == torch.bfloat16
    assert machine.choose_precision("float32", torch.device("cuda")) == torch.float32
    assert machine.choose_precision("auto", torch.device("mps")) == torch.float32
    with pytest.raises(RecipeError, match="mps"):
        machine.choose_precision("bfloat16", torch.device("mps"))


def killed(*_: Any, **__: Any) -> SimpleNamespace:
    return SimpleNamespace(returncode=-4)  # SIGILL


def hanging(*_: Any, **__: Any) -> SimpleNamespace:
    raise subprocess.TimeoutExpired("python", 60)


def forbidden(*_: Any, **__: Any) -> SimpleNamespace:
    raise PermissionError(1, "no children here")


@pytest.mark.parametrize("child", [killed, hanging, forbidden])
def test_what_would_kill_the_process_is_refused(
    monkeypatch: pytest.MonkeyPatch, child: Any
) -> None:
    monkeypatch.setattr(subprocess, "run", child)
    assert not machine.bfloat16_runs()
    with pytest.raises(RecipeError, match="use float32"):
        machine.choose_precision("bfloat16", CPU)


def test_auto_on_a_cpu_starts_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a child was started"))
    assert machine.choose_precision("auto", CPU) == torch.float32


def test_the_trial_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", machine.BFLOAT16_TRIAL], capture_output=True, timeout=60
    )
    # Below zero, a signal: this CPU is one of those the child is for.
    assert done.returncode <= 0


def test_big_buffers_are_kept_where_the_library_can(monkeypatch: pytest.MonkeyPatch) -> None:
    # In a child, since it changes the allocation of the whole process.
    text = "from regard.machine import keep_big_buffers; print(keep_big_buffers())"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() in ("True", "False")
    monkeypatch.setattr(machine.platform, "system", lambda: "Darwin")
    assert machine.keep_big_buffers() is False
    monkeypatch.setattr(machine.platform, "system", lambda: "Linux")
    monkeypatch.setattr(machine.ctypes, "CDLL", lambda name: SimpleNamespace())
    assert machine.keep_big_buffers() is False
    for answer in (0, 1):
        library = SimpleNamespace(mallopt=lambda option, value, answer=answer: answer)
        monkeypatch.setattr(machine.ctypes, "CDLL", lambda name, library=library: library)
        assert machine.keep_big_buffers() is bool(answer)


def test_there_is_a_core_to_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.usable_cores() >= 1
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    assert machine.usable_cores() >= 1
