"""The live line of a training: what it does now, and how far it is. It fits any width; the step and
the time left are the last to go.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from regard.cli.display import duration

BAR_WIDTH = 20
GAP = 2
# What can be cut is left out if less than this is left of it.
SHORTEST = 6


class Part(NamedTuple):
    rank: int  # parts with a small one stay longest
    width: int
    shown: RenderableType
    cut: Callable[[int], RenderableType] | None = None  # a narrower form of it, where there is one


class LiveLine:
    """Rich draws it again and again; the screen sets what it shows."""

    def __init__(self) -> None:
        self.spinner = Spinner("dots")
        self.phase = ""  # "" while updates run
        self.since = self.reported = time.monotonic()
        self.step = self.steps = 0
        self.loss = self.speed = ""
        self.seconds_left = 0.0

    def enter(self, phase: str) -> None:
        self.phase, self.since = phase, time.monotonic()

    def leave(self) -> None:
        """Show the updates again, if there were any."""
        if self.steps:
            self.phase = ""

    def report(self, step: int, seconds_left: float) -> None:
        self.phase, self.step = "", step
        self.seconds_left, self.reported = seconds_left, time.monotonic()

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        row = Table.grid(padding=(0, GAP, 0, 0))
        row.add_row(*self.fitting(options.max_width))
        yield row

    def fitting(self, width: int) -> list[RenderableType]:
        """The parts that fit into a width; the important ones are chosen first."""
        parts = self.parts()
        shown: dict[int, RenderableType] = {}
        room = width
        for place in sorted(range(len(parts)), key=lambda place: parts[place].rank):
            part = parts[place]
            if part.width > room >= SHORTEST and part.cut is not None:
                part = Part(part.rank, room, part.cut(room))
            if part.width <= room:
                shown[place] = part.shown
                room -= part.width + GAP
        return [shown[place] for place in sorted(shown)]

    def parts(self) -> list[Part]:
        found = [text_part(0, f"step {self.step:,}/{self.steps:,}")] if self.steps else []
        if self.phase:
            elapsed = f"{time.monotonic() - self.since:.0f} s"
            found.append(Part(2, 1, self.spinner))
            words = Text(f"{self.phase} …", no_wrap=True)
            found.append(Part(3, len(words), words, partial(shortened, words)))
            found.append(text_part(4, elapsed))
        else:
            bar = partial(ProgressBar, self.steps, self.step)
            found.append(Part(4, BAR_WIDTH, bar(BAR_WIDTH), bar))
            # "loss 2.500", where there is no room for "training loss 2.500".
            short = Text(self.loss.removeprefix("training "), no_wrap=True)
            found.append(text_part(2, self.loss)._replace(cut=partial(shortened, short)))
            found.append(text_part(3, self.speed))
        left = self.seconds_left - (time.monotonic() - self.reported)
        if self.steps and left >= 0.5:
            found.append(text_part(1, f"{duration(left)} left"))
        return found


def text_part(rank: int, text: str) -> Part:
    return Part(rank, len(text), Text(text, no_wrap=True))


def shortened(text: Text, width: int) -> Text:
    text = text.copy()
    text.truncate(width, overflow="ellipsis")
    return text
