"""Shows a training that Python started: a live line in a terminal, a bar in a notebook."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.start import Start
    from regard.training.events import Event

# Seconds between two pictures of a notebook's bar.
PAUSE = 0.25


@contextmanager
def shown_progress(start: "Start", wanted: bool) -> "Iterator[Callable[[Event], None]]":
    """A function that shows an event; where nobody looks, it shows nothing."""
    if wanted and in_notebook():
        bar = NotebookBar(start)
        try:
            yield bar.show
        finally:
            bar.draw()
    elif wanted and sys.stderr is not None and sys.stderr.isatty():
        from regard.cli.display import say
        from regard.cli.training_screen import TrainingScreen

        for reason in start.reasons:
            say(f"  {reason}")
        screen = TrainingScreen(start.out)
        try:
            yield screen.show
        finally:
            screen.close()
    else:
        yield lambda event: None


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook, which shows HTML."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return hasattr(shell, "kernel")


class NotebookBar:
    """What happens, a bar, and the last validation, drawn again in the same place."""

    def __init__(self, start: "Start") -> None:
        import IPython.display

        display: Any = IPython.display.display
        self.steps = start.recipe.train.steps
        self.metrics = metrics_of(start)
        self.lines = list(start.reasons)
        self.step, self.loss = 0, 0.0
        self.speed = 0.0  # updates a second
        self.last = time.monotonic()
        self.drawn = 0.0
        self.place = display(self.bundle(), raw=True, display_id=True)

    def show(self, event: "Event") -> None:
        from regard.evaluate.metrics import format_scores
        from regard.evaluate.validation import Validation
        from regard.training import events

        match event:
            case events.StepReport():
                self.advance(event.step, event.loss)
                return
            case Validation():
                scores = [f"loss {event.loss:.3f}", *format_scores(event.scores, self.metrics)]
                best = " · best so far" * event.best
                self.lines.append(f"update {event.step:,}: {', '.join(scores)}{best}")
            case events.Phase():
                self.lines.append(f"{event.text} …")
            case events.Note():
                self.lines.append(("warning: " if event.warning else "") + event.text)
            case events.Estimate():
                minutes = event.seconds / 60
                self.lines.append(
                    f"{event.parameters:,} parameters, {event.steps:,} updates: about "
                    + (f"{minutes:.0f} min" if minutes > 1.5 else f"{event.seconds:.0f} s")
                )
            case events.Resumed():
                self.step = event.step
                self.lines.append(f"Resuming after update {event.step:,}.")
            case events.Interrupted():
                self.lines.append(f"Stopped after update {event.step:,}, and saved.")
            case events.Finished():
                self.lines.append(f"Finished. The run is in {event.folder}.")
            case _:
                return
        self.draw()

    def advance(self, step: int, loss: float) -> None:
        now = time.monotonic()
        rate = (step - self.step) / max(1e-9, now - self.last)
        self.speed = rate if not self.speed else 0.95 * self.speed + 0.05 * rate
        self.loss = loss if not self.loss else 0.95 * self.loss + 0.05 * loss
        self.step, self.last = step, now
        if now - self.drawn > PAUSE:
            self.draw()

    def draw(self) -> None:
        self.drawn = time.monotonic()
        self.place.update(self.bundle(), raw=True)

    def bundle(self) -> dict[str, str]:
        status = f"update {self.step:,} of {self.steps:,}"
        if self.loss:
            status += f", loss {self.loss:.3f}"
        if self.speed and self.step < self.steps:
            status += f", {(self.steps - self.step) / self.speed:.0f} s left"
        lines = "<br>".join(escape(line) for line in self.lines[-6:])
        return {
            "text/plain": "\n".join([*self.lines[-6:], status]),
            "text/html": f'<div style="font-size: 90%">{lines}<br>'
            f'<progress value="{self.step}" max="{self.steps}"></progress> {escape(status)}</div>',
        }


def metrics_of(start: "Start") -> Any:
    from regard import tasks

    return tasks.get(start.recipe.task).metrics
