"""Says of the runs that a command uses which of them are not trained to the end."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


def say_unfinished(arguments: Mapping[str, Any]) -> None:
    """A line on stderr for each run among the arguments that was stopped, or is in training."""
    from regard.errors import RegardError

    for folder in folders(arguments):
        with suppress(RegardError):  # the command itself says what is wrong with a run
            from regard.run import Run

            if state := Run(folder).unfinished():
                from regard.cli.display import say

                advice = "; the command that trained it resumes it" * state.startswith("stopped")
                say(f"{folder}: {state}{advice}.")


def folders(arguments: Mapping[str, Any]) -> list[Path]:
    given = [arguments.get("run"), *(arguments.get("runs") or ()), arguments.get("against")]
    # The server takes names, too: `en-fr=runs/en-fr`.
    return [Path(str(each).rpartition("=")[2]) for each in given if each is not None]
