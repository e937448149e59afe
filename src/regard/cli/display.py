"""How commands talk: on stderr, with a live line for people and plain lines for programs."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from regard.errors import visible
from regard.reporter import Reporter

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, Task

# In a pipe, work is named after the first number of seconds, and again after each second number.
NAMED_SECONDS, PLAIN_SECONDS = 3.0, 30.0


def talk() -> "Console":
    """The console for everything that is not a result."""
    from regard.cli.terminal import Terminal

    return Terminal(stderr=True, soft_wrap=True)


def say(text: str) -> None:
    """A line of talk, shown as it is."""
    talk().print(text)


def results(text: str) -> None:
    """A line of result; a pipe gets every character of it, a terminal those that can be seen."""
    sys.stdout.write((visible(text) if sys.stdout.isatty() else text) + "\n")


def duration(seconds: float) -> str:
    """43 s, 12 min, 3 h 05 min"""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def shortened(text: str, width: int = 110) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


@contextmanager
def progress_bar(description: str, total: int | None) -> Iterator["Progress"]:
    """A bar with time left for anything that may take more than two seconds; in a pipe, a line now
    and then.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    console = talk()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Left())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    bar.add_task(description, total=total)
    with bar, nullcontext() if console.is_terminal else plain_lines(bar.tasks[0]):
        yield bar


@contextmanager
def plain_lines(task: "Task") -> Iterator[None]:
    """Say now and then how far a task is."""
    ended = threading.Event()

    def speak() -> None:
        seconds = NAMED_SECONDS
        while not ended.wait(seconds):
            say(progress_line(task))
            seconds = PLAIN_SECONDS

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield
    finally:
        ended.set()
        speaker.join()


def progress_line(task: "Task") -> str:
    """translating: 512 of 2,000, 12 s left"""
    if not task.total:
        done = f": {task.completed:,.0f} so far" if task.completed else " …"
        return f"{task.description}{done}"
    left = f", {duration(task.time_remaining)} left" if task.time_remaining is not None else ""
    return f"{task.description}: {task.completed:,.0f} of {task.total:,.0f}{left}"


@contextmanager
def shown_progress(what: str, total: int) -> "Iterator[Callable[[int], None]]":
    with progress_bar(what, total or None) as bar:
        yield lambda count: bar.advance(bar.task_ids[0], count)


# Where functions that take long report to people.
SCREEN = Reporter(say, shown_progress)
