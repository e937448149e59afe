"""Trains from Python: from examples, files or a recipe, with the choices of the command line."""

import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.api.asked import Asked, in_python, prepared, setting_lines
from regard.errors import RequestError, shown
from regard.run import Run

if TYPE_CHECKING:
    from regard.recipe import Recipe
    from regard.start import Start
    from regard.training.events import Event


def train(
    recipe: "Recipe | Mapping[str, Any] | Path | str | None" = None,
    out: Path | str | None = None,
    *,
    valid: Any = None,
    task: str | None = None,
    languages: tuple[str, str] | None = None,
    preset: str | None = None,
    from_run: "Run | Path | str | None" = None,
    settings: Mapping[str, Any] | None = None,
    check: bool = True,
    on_event: "Callable[[Event], object] | None" = None,
    progress: bool = True,
    **data: Any,
) -> Run:
    """Train a model to the end, or resume a run, and return the run.

    Give data, whose sizes are then chosen as `regard train` chooses them, or a recipe. The same
    call resumes a run that was stopped; if the run is finished, it is returned at once.

    Ctrl-C, or a notebook's stop button, saves the run and raises KeyboardInterrupt; SIGTERM saves
    it and ends the program. The same call resumes there.

    Parameters
    ----------
    recipe
        A recipe instead of data: the name of one that comes with regard, a TOML file, a dict, or a
        `Recipe`.
    out
        The run folder. By default it is in runs/, named after the recipe, languages or task.
    pairs
        Data for a translator: (source, target) for each sentence.
    text
        Data for a language model: texts. `texts` is the same.
    labelled
        Data for a classifier: (text, label) for each text.
    tagged
        Data for a tagger: (words, labels) for each sentence, two lists of the same length.
    series
        Data for a forecaster: a table of numbers over time, or a list of numbers. With it go
        `target`, `time`, `id`, `known`, `horizon`, `every`, `zone` and `dates`, as on the command
        line.
    valid
        Data of the same kind for validation; without it, a share of the data is held out.
    task
        With text: `"masked-language-model"` or `"word-vectors"` trains these instead.
    languages
        With pairs: the codes of the two languages, like `("en", "de")`.
    preset
        With pairs: `"standard"`, or `"fast"`, which translates faster with one decoder layer.
    from_run
        A finished run to start from, such as a masked language model for a classifier.
    settings
        Settings of the recipe, like `{"train.steps": 200}` or `{"train": {"steps": 200}}`.
    check
        Whether to look at the data first, as `regard check` does: what cannot be meant is an error,
        what is odd a warning.
    on_event
        A function that is called with each event of the training.
    progress
        Whether to show progress, which happens in a terminal and in a notebook only.

    Returns
    -------
    Run
        The run; its `load()` gives the translator, classifier and so on.

    Raises
    ------
    DataError
        An example or a file is not what it should be.
    RecipeError
        A setting or a recipe is wrong.
    RunError
        The folder holds another run.
    KeyboardInterrupt
        Training was stopped; everything is saved.

    Notes
    -----
    Data is a list, an iterator, a dict of lists, a DataFrame (pandas or polars), an Arrow table, a
    dataset of Hugging Face, or the name of one or more files. The columns of a table are found by
    their names. Examples are written into the run folder. A task of your own that has a flag takes
    its data under that name.

    Examples
    --------
    >>> import regard
    >>> pairs = [(f"le chat {n}", f"the cat {n}") for n in range(100)]
    >>> run = regard.train(pairs=pairs, out="runs/cats", settings={"train.steps": 2})
    >>> run.load().translate("le chat 7")  # doctest: +SKIP
    'the cat 7'
    """
    from regard.api.progress import shown_progress

    if on_event is not None and not callable(on_event):
        raise RequestError(f"on_event = {shown(on_event)}: give a function that takes an event")
    lines = setting_lines(settings, from_run)
    asked = Asked(recipe, out, data, valid, task, languages, preset, lines)
    with prepared(asked) as start, shown_progress(start, progress) as show:
        from regard.training.events import Interrupted

        for event in checked_run(start, check):
            show(event)
            if on_event is not None:
                on_event(event)
            if isinstance(event, Interrupted):
                if event.signal != signal.SIGINT:
                    sys.exit(128 + event.signal)  # as that signal would have ended the program
                raise KeyboardInterrupt(
                    f"stopped after update {event.step:,}, and saved; the same call resumes there"
                )
    return Run.open(start.out)


def training_run(
    recipe: "Recipe | Mapping[str, Any] | Path | str | None" = None,
    out: Path | str | None = None,
    *,
    valid: Any = None,
    task: str | None = None,
    languages: tuple[str, str] | None = None,
    preset: str | None = None,
    from_run: "Run | Path | str | None" = None,
    settings: Mapping[str, Any] | None = None,
    check: bool = True,
    **data: Any,
) -> "Iterator[Event]":
    """Train as `train` does, and yield what happens; nothing is shown.

    Ctrl-C saves the run, and the last event is `Interrupted`. Leaving the loop saves nothing: the
    next call resumes from the last checkpoint.

    Parameters
    ----------
    recipe, out, valid, task, languages, preset, from_run, settings, check, **data
        As for `train`.

    Yields
    ------
    Event
        One of the classes in `regard.training.events`: `Estimate` before the first update,
        `StepReport` after each, `Validation` after each look at held-out data, `Finished` at the
        end, and others.

    Raises
    ------
    RegardError
        As `train` does, when the first event is asked for.

    Examples
    --------
    >>> import regard
    >>> from regard.training.events import StepReport
    >>> texts = [f"one and two and {n} " * 9 for n in range(100)]
    >>> for event in regard.training_run(text=texts, out="runs/n", settings={"train.steps": 2}):
    ...     if isinstance(event, StepReport):
    ...         print(event.step)
    1
    2
    """
    lines = setting_lines(settings, from_run)
    asked = Asked(recipe, out, data, valid, task, languages, preset, lines)
    with prepared(asked) as start:
        yield from checked_run(start, check)


def checked_run(start: "Start", check: bool) -> "Iterator[Event]":
    """The events of a training, after a look at its data as on the command line: what cannot be
    meant is a DataError, and what is odd a warning in the line that called `train`.
    """
    from regard.checks.training import before_training
    from regard.training.events import Phase
    from regard.training.run import training_run

    if check:
        yield Phase("Checking the data")
        report = before_training(start.recipe, start.out, override="check=False")
        for finding in report.of("warning") if report else ():
            warnings.warn(in_python(str(finding)), UserWarning, stacklevel=3)
    yield from training_run(start.recipe, start.out)
