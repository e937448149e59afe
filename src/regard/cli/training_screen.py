"""Shows a training: a live line for people, above it what is worth keeping, and plain lines for
programs.
"""

import sys
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.display import PLAIN_SECONDS, duration, shortened, talk
from regard.cli.live_line import LiveLine

if TYPE_CHECKING:
    from rich.live import Live

    from regard.evaluate.validation import Validation
    from regard.recipe import Recipe
    from regard.training.events import (
        DataReady,
        Estimate,
        Event,
        ExamplesReady,
        Finished,
        Peak,
        StepReport,
    )

# A phase that comes again is named in a pipe if it took longer than this the last time.
SHORT_SECONDS = 2.0
# Characters that are shown of a sample.
LONGEST_TEXT = 110


def show_training(events: Iterator["Event"], out: Path) -> None:
    """Show a training run to its end; if it is stopped before, the command ends there, too."""
    from regard.training.events import Interrupted

    screen = TrainingScreen(out)
    event: Event | None = None
    try:
        for event in events:
            screen.show(event)
    finally:
        screen.close()
    if isinstance(event, Interrupted):
        sys.exit(128 + event.signal)  # as a shell reports what a signal has ended


class TrainingScreen:
    def __init__(self, out: Path) -> None:
        self.out = out
        self.console = talk()
        self.line_below = LiveLine()
        self.live: Live | None = None
        self.loss = 0.0
        self.rate = 0.0
        self.peak: Peak | None = None
        self.spoke = time.monotonic()
        self.phase, self.entered = "", time.monotonic()
        self.took: dict[str, float] = {}  # how long each phase lasted the last time

    def show(self, event: "Event") -> None:
        from regard.evaluate.validation import Validation
        from regard.training import events

        self.leave_phase()
        match event:
            case events.StepReport():
                self.step(event)
            case events.Phase():
                self.enter_phase(event.text)
            case Validation():
                self.validation(event)
            case events.Note():
                style = "yellow" if event.warning else "dim"
                self.line(("warning: " if event.warning else "") + event.text, style)
            case events.DataReady():
                self.data(event)
            case events.ExamplesReady():
                self.examples(event)
            case events.Estimate():
                self.estimate(event)
            case events.Resumed():
                self.peak = event.peak
                self.line(f"Resuming after step {event.step:,}.")
            case events.Interrupted():
                self.close()
                self.line(f"Stopped after step {event.step:,}; the same command resumes there.")
            case events.Finished():
                self.finished(event)

    def line(self, text: str, style: str = "") -> None:
        self.console.print(text, style=style)

    def enter_phase(self, text: str) -> None:
        self.phase, self.entered = text, time.monotonic()
        if self.console.is_terminal:
            self.line_below.enter(text)
            self.start()
        elif self.took.get(text, SHORT_SECONDS) >= SHORT_SECONDS:
            self.line(f"{text} …")

    def leave_phase(self) -> None:
        if self.phase:
            self.took[self.phase] = time.monotonic() - self.entered
        self.phase = ""
        self.line_below.leave()

    def start(self) -> None:
        """Show the live line, from the first phase to the end."""
        from rich.live import Live

        if self.live is None:
            self.live = Live(
                self.line_below, console=self.console, transient=True, refresh_per_second=8
            )
            self.live.start()

    def data(self, ready: "DataReady") -> None:
        self.line(
            f"{ready.train_pairs:,} pairs to learn from, {ready.valid_pairs:,} to validate, "
            f"{ready.padding:.1%} padding."
        )
        for name, report in (("train", ready.train_report), ("valid", ready.valid_report)):
            for line in report.lines()[1:] if report else []:
                self.line(f"  {name}: {line}", "yellow")

    def examples(self, ready: "ExamplesReady") -> None:
        padding = f", {ready.padding:.1%} padding" if ready.padding else ""
        self.line(
            f"{ready.train:,} {ready.unit} to learn from, {ready.valid:,} to validate{padding}."
        )
        for remark in ready.remarks:
            self.line(f"  {remark}", "yellow")

    def estimate(self, plan: "Estimate") -> None:
        self.peak = plan.peak
        self.line(
            f"{plan.parameters:,} parameters{', ' * bool(plan.remark)}{plan.remark}; "
            f"{plan.steps:,} updates are {plan.passes:.1f} passes over the data."
        )
        self.line(
            f"On this machine about {duration(plan.seconds)} with validation, "
            f"at {self.speed(plan.tokens_per_second)}, {plan.memory_bytes / 1e9:.1f} GB memory."
        )
        self.line("Ctrl-C saves and stops.")

    def speed(self, tokens_per_second: float) -> str:
        """11,400 tokens/s (47 % of peak). A peak that is passed was measured on a busy machine, and
        below one percent, products are not what takes the time.
        """
        share = (self.peak.share(tokens_per_second) if self.peak else None) or 0.0
        of_peak = f" ({100 * share:.0f} % of peak)" if 0.01 <= share <= 1 else ""
        return f"{tokens_per_second:,.0f} {self.unit}/s{of_peak}"

    def step(self, report: "StepReport") -> None:
        self.loss = report.loss if not self.loss else 0.95 * self.loss + 0.05 * report.loss
        rate = report.tokens_per_second
        self.rate = rate if not self.rate else 0.95 * self.rate + 0.05 * rate
        if report.skipped:
            self.line(
                f"step {report.step:,}: loss or gradient not finite, update skipped", "yellow"
            )
        steps = self.recipe.train.steps
        if self.console.is_terminal:
            below = self.line_below
            below.steps, below.loss = steps, f"training loss {self.loss:.3f}"
            below.speed = f"{self.rate:,.0f} {self.unit}/s"
            below.report(report.step, report.seconds_left)
            self.start()
        elif time.monotonic() - self.spoke > PLAIN_SECONDS:
            self.spoke = time.monotonic()
            self.line(
                f"step {report.step:,} of {steps:,}: training loss {self.loss:.3f}"
                f"{self.harder}, {self.speed(self.rate)}, {duration(report.seconds_left)} left"
            )

    @cached_property
    def recipe(self) -> "Recipe":
        from regard.run import Run

        return Run.open(self.out).recipe()

    @cached_property
    def unit(self) -> str:
        from regard import tasks

        return tasks.get(self.recipe.task).unit

    @cached_property
    def harder(self) -> str:
        """Why the training loss is higher than the validation loss."""
        smoothing = getattr(self.recipe.train, "label_smoothing", 0)
        dropout = getattr(self.recipe.model, "dropout", 0)
        reasons = ["label smoothing"] * bool(smoothing) + ["dropout"] * bool(dropout)
        return f" (with {' and '.join(reasons)})" if reasons else ""

    def validation(self, found: "Validation") -> None:
        from regard import tasks
        from regard.evaluate.metrics import format_scores

        task = tasks.get(self.recipe.task)
        scores = [
            f"validation loss {found.loss:.3f}",
            *format_scores(found.scores, task.metrics),
            *["best so far"] * found.best,
        ]
        self.line(f"step {found.step:,}  {'  '.join(scores)}", "bold")
        if self.loss:
            self.line(f"    training loss {self.loss:.3f}{self.harder}", "dim")
        reference = task.describe(self.recipe, None).columns[2]
        for sample in found.samples[:2]:
            self.text(f"    {sample.source}", "dim")
            self.text(f"  → {sample.output}", "cyan")
            if sample.reference:
                self.text(f"    {reference}: {sample.reference}", "dim")

    def text(self, text: str, style: str) -> None:
        """A line of somebody's text, cut to the width of a terminal."""
        width = min(LONGEST_TEXT, self.console.width) if self.console.is_terminal else LONGEST_TEXT
        begin = len(text) - len(text.lstrip())
        self.line(" " * begin + shortened(text, width - begin), style)

    def finished(self, end: "Finished") -> None:
        self.close()
        from regard import tasks
        from regard.run import commands_for

        why = "stopped getting better" if end.early else "done"
        self.line(
            f"Training {why} after {end.step:,} updates in {duration(end.seconds)}"
            + (f"; the last {end.averaged} checkpoints are averaged" if end.averaged else "")
            + f". The run is in {end.folder}."
        )
        if sentence := tasks.get(self.recipe.task).verdict(end.validation.scores):
            self.line(sentence, "yellow")
        self.line(f"Try: {commands_for(self.recipe, end.folder)[0]}")

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None
