"""What the screen says of a training, at any width and in a pipe."""

import io
import signal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from regard.cli.live_line import LiveLine
from regard.cli.training_screen import TrainingScreen, show_training
from regard.evaluate.validation import Sample, Validation
from regard.recipe import parse
from regard.training.events import (
    Estimate,
    Interrupted,
    Note,
    Peak,
    Phase,
    Position,
    Resumed,
    StepReport,
)


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


def test_the_share_of_the_peak_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = screen_of(monkeypatch)
    assert screen.speed(11_400) == "11,400 tokens/s"  # nothing is known before the estimate
    screen.show(expected(peak_flops=240e9))
    assert "11,400 tokens/s (48 % of peak)" in capsys.readouterr().err
    assert screen.speed(5_700) == "5,700 tokens/s (24 % of peak)"
    assert screen.speed(50_000) == "50,000 tokens/s"  # the peak was measured on a busy machine
    assert screen.speed(200) == "200 tokens/s"  # not what its time is for


def test_a_peak_that_was_not_measured_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = screen_of(monkeypatch)
    screen.show(expected(peak_flops=0.0))
    assert screen.speed(11_400) == "11,400 tokens/s"


def test_a_run_that_resumes_tells_its_share_too(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = screen_of(monkeypatch)
    screen.show(Resumed(7, Peak(flops_per_token=1e7, flops_per_second=240e9)))
    assert screen.speed(11_400) == "11,400 tokens/s (48 % of peak)"


def screen_of(monkeypatch: pytest.MonkeyPatch, **train: Any) -> TrainingScreen:
    values = {"data": {"builtin": "phrasebook"}, "train": {"steps": 100, **train}}
    recipe = parse({**values, "model": {"dropout": 0}}, "test")
    monkeypatch.setattr(TrainingScreen, "recipe", recipe)
    return TrainingScreen(Path("run"))


def report(step: int, seconds_left: float) -> StepReport:
    place = Position(step)
    return StepReport(step, place, 2.5, 1e-3, 1.0, 2000, 1.0, False, seconds_left)


def test_lines_for_programs_tell_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.cli.training_screen.PLAIN_SECONDS", -1.0)
    screen_of(monkeypatch).show(report(40, 75.0))
    assert capsys.readouterr().err == (
        "step 40 of 100: training loss 2.500 (with label smoothing), 2,000 tokens/s, 75 s left\n"
    )
    screen_of(monkeypatch, label_smoothing=0).show(report(40, 75.0))
    assert "training loss 2.500, 2,000 tokens/s" in capsys.readouterr().err


def test_a_validation_shows_references_and_which_loss_is_which(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = screen_of(monkeypatch)
    screen.show(report(40, 75.0))
    sample = Sample("le chat dort", "the cat sleeps", "the cat doors")
    screen.show(Validation(40, 1.25, {"perplexity": 3.49}, (sample,), best=True))
    assert capsys.readouterr().err.splitlines() == [
        "step 40  validation loss 1.250  perplexity 3.49  best so far",
        "    training loss 2.500 (with label smoothing)",
        "    le chat dort",
        "  → the cat doors",
        "    reference: the cat sleeps",
    ]


def test_in_a_pipe_each_phase_is_a_line_and_a_short_one_is_named_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, clock = screen_of(monkeypatch), iter(range(0, 1000, 1))
    monkeypatch.setattr("regard.cli.training_screen.time.monotonic", lambda: next(clock))
    for _ in range(2):
        for text in ("Reading the pairs", "Validating"):
            screen.show(Phase(text))
        screen.show(Note("done"))
    assert capsys.readouterr().err.count("Validating …") == 1
    monkeypatch.setattr("regard.cli.training_screen.time.monotonic", lambda: 10 * next(clock))
    for _ in range(2):
        screen.show(Phase("Saving"))
    assert capsys.readouterr().err.count("Saving …") == 2


@pytest.mark.parametrize("width", [120, 80, 40, 30, 26])
def test_the_live_line_fits_and_keeps_the_step_and_the_time_left(width: int) -> None:
    line = LiveLine()
    line.enter("Learning the vocabulary from 29,000 pairs")
    assert drawn(line, width).split()[1].startswith("Learn")
    line.steps, line.loss, line.speed = 2000, "training loss 2.500", "11,400 tokens/s"
    line.report(1200, 754.0)
    text = drawn(line, width)
    assert len(text) <= width
    assert "step 1,200/2,000" in text
    if width > 28:
        assert "13 min left" in text
    assert ("training loss 2.500" in text, "tokens/s" in text) == (width > 52, width > 66)
    assert "loss" in text or width < 40
    line.enter("Validating the average of the last 3 checkpoints")
    text = drawn(line, width)
    assert len(text) <= width
    if width > 39:
        assert "Valid" in text
        assert "13 min left" in text


def drawn(line: LiveLine, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    console.print(line)
    assert isinstance(console.file, io.StringIO)
    (text,) = console.file.getvalue().rstrip("\n").split("\n")
    return text.rstrip()


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
