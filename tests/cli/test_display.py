"""What the screen says of speed, and that a stop is the end of the command."""

import signal
from pathlib import Path

import pytest

from regard.cli.display import TrainingScreen, show_training
from regard.recipe import parse
from regard.training.events import Estimate, Interrupted, Note, Peak, Position, Resumed, StepReport


def expected(peak_flops: float) -> Estimate:
    return Estimate(
        parameters=1000,
        steps=100,
        passes=10.0,
        tokens_per_second=11_400.0,
        seconds=60.0,
        memory_bytes=10**9,
        peak=Peak(flops_per_token=1e7, flops_per_second=peak_flops),
    )


def test_the_share_of_the_peak_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    screen = TrainingScreen(Path("run"))
    assert screen.speed(11_400) == "11,400 tokens/s"  # nothing is known before the estimate
    screen.show(expected(peak_flops=240e9))
    assert "11,400 tokens/s (48 % of peak)" in capsys.readouterr().err
    assert screen.speed(5_700) == "5,700 tokens/s (24 % of peak)"
    assert screen.speed(50_000) == "50,000 tokens/s"  # the peak was measured on a busy machine


def test_a_peak_that_was_not_measured_is_not_told() -> None:
    screen = TrainingScreen(Path("run"))
    screen.show(expected(peak_flops=0.0))
    assert screen.speed(11_400) == "11,400 tokens/s"


def test_a_run_that_resumes_tells_its_share_too() -> None:
    screen = TrainingScreen(Path("run"))
    screen.show(Resumed(7, Peak(flops_per_token=1e7, flops_per_second=240e9)))
    assert screen.speed(11_400) == "11,400 tokens/s (48 % of peak)"


def test_lines_for_programs_tell_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.cli.display.PLAIN_SECONDS", -1.0)
    recipe = parse({"data": {"builtin": "phrasebook"}, "train": {"steps": 100}}, "test")
    monkeypatch.setattr(TrainingScreen, "recipe", lambda screen: recipe)
    TrainingScreen(Path("run")).show(
        StepReport(40, Position(40), 2.5, 1e-3, 1.0, tokens=2000, seconds=1.0, skipped=False)
    )
    assert capsys.readouterr().err == "step 40 of 100: loss 2.500, 2,000 tokens/s, 60 s left\n"


def test_a_command_ends_where_its_training_is_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    """`regard demo` must not score half a training."""
    show_training(iter([Note("a remark")]), Path("run"))
    with pytest.raises(SystemExit) as stopped:
        show_training(iter([Note("a remark"), Interrupted(7)]), Path("run"))
    assert stopped.value.code == 130
    with pytest.raises(SystemExit) as stopped:
        show_training(iter([Interrupted(7, signal.SIGTERM)]), Path("run"))
    assert stopped.value.code == 143
    assert "Stopped after step 7" in capsys.readouterr().err
