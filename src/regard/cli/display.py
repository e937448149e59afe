"""How commands talk: on stderr, with a live line for people and plain lines for programs."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from regard.reporter import Reporter

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

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

PLAIN_SECONDS = 30.0


def talk() -> "Console":
    """The console for everything that is not a result."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """A line of talk, shown as it is."""
    talk().print(text, markup=False)


def results(text: str) -> None:
    """A line of result."""
    sys.stdout.write(text + "\n")


def duration(seconds: float) -> str:
    """43 s, 12 min, 3 h 05 min"""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


@contextmanager
def progress_bar(description: str, total: int | None) -> Iterator["Progress"]:
    """A bar with time left for anything that may take more than two seconds; silent when piped."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    console = talk()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Left())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        bar.add_task(description, total=total)
        yield bar


@contextmanager
def shown_progress(what: str, total: int) -> "Iterator[Callable[[int], None]]":
    with progress_bar(what, total or None) as bar:
        yield lambda count: bar.advance(bar.task_ids[0], count)


# Where functions that take long report to people.
SCREEN = Reporter(say, shown_progress)


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
    """A live line with loss, speed and time left; above it what is worth keeping."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.console = talk()
        self.bar: Progress | None = None
        self.steps = 0
        self.loss = 0.0
        self.rate = 0.0
        self.peak: Peak | None = None
        self.spoke = time.monotonic()

    def show(self, event: "Event") -> None:
        from regard.evaluate.validation import Validation
        from regard.training import events
        from regard.training.events import StepReport

        match event:
            case StepReport():
                self.step(event)
            case Validation():
                self.validation(event)
            case events.Note():
                style = "yellow" if event.warning else "dim"
                self.line(("warning: " if event.warning else "") + event.text, style)
            case events.Phase():
                self.line(f"{event.text} …", "dim")
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
        self.console.print(text, style=style, markup=False)

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
            f"On this machine about {duration(plan.seconds)} "
            f"at {self.speed(plan.tokens_per_second)}, {plan.memory_bytes / 1e9:.1f} GB memory. "
            "Ctrl-C saves and stops."
        )

    def speed(self, tokens_per_second: float) -> str:
        """11,400 tokens/s (47 % of peak); a peak that is passed was measured on a busy machine."""
        share = self.peak.share(tokens_per_second) if self.peak else None
        return f"{tokens_per_second:,.0f} tokens/s" + (
            "" if share is None or share > 1 else f" ({100 * share:.0f} % of peak)"
        )

    def step(self, report: "StepReport") -> None:
        self.loss = report.loss if not self.loss else 0.95 * self.loss + 0.05 * report.loss
        rate = report.tokens_per_second
        self.rate = rate if not self.rate else 0.95 * self.rate + 0.05 * rate
        if report.skipped:
            self.line(
                f"step {report.step:,}: loss or gradient not finite, update skipped", "yellow"
            )
        if self.console.is_terminal:
            self.live(report)
        elif time.monotonic() - self.spoke > PLAIN_SECONDS:
            self.spoke = time.monotonic()
            steps = self.recipe().train.steps
            left = duration((steps - report.step) * report.tokens / self.rate)
            self.line(
                f"step {report.step:,} of {steps:,}: loss {self.loss:.3f}, "
                f"{self.speed(self.rate)}, {left} left"
            )

    def live(self, report: "StepReport") -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        if self.bar is None:
            self.bar = Progress(
                TextColumn("step {task.completed:,.0f}/{task.total:,.0f}"),
                BarColumn(bar_width=24),
                TextColumn("loss {task.fields[loss]:.3f}  {task.fields[speed]}"),
                TimeRemainingColumn(compact=True),
                TextColumn("left"),
                console=self.console,
                transient=True,
                speed_estimate_period=120,
            )
            self.bar.add_task("train", total=self.recipe().train.steps, loss=0.0, speed="")
            self.bar.start()
        speed = self.speed(self.rate)
        self.bar.update(self.bar.task_ids[0], completed=report.step, loss=self.loss, speed=speed)

    def recipe(self) -> "Recipe":
        from regard.run import Run

        return Run.open(self.out).recipe()

    def validation(self, found: "Validation") -> None:
        from regard import tasks
        from regard.evaluate.metrics import format_scores

        metrics = tasks.get(self.recipe().task).metrics
        scores = "  ".join([f"loss {found.loss:.3f}", *format_scores(found.scores, metrics)])
        self.line(
            f"step {found.step:,}  {scores}" + ("  best so far" if found.best else ""), "bold"
        )
        for sample in found.samples[:2]:
            self.line(f"    {shortened(sample.source)}", "dim")
            self.line(f"  → {shortened(sample.output)}", "cyan")

    def finished(self, end: "Finished") -> None:
        self.close()
        from regard.run import Run, commands_for

        why = "stopped getting better" if end.early else "done"
        self.line(
            f"Training {why} after {end.step:,} updates in {duration(end.seconds)}"
            + (f"; the last {end.averaged} checkpoints are averaged" if end.averaged else "")
            + f". The run is in {end.folder}."
        )
        self.line(f"Try: {commands_for(Run.open(end.folder).recipe(), end.folder)[0]}")

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def shortened(text: str, width: int = 110) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
