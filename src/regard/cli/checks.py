"""Runs, files and folders that a command is given, checked before anything heavy is loaded."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import RequestError, RunError, UsageError

if TYPE_CHECKING:
    from regard.run import Run

PICTURES = (".png", ".svg", ".pdf")


def open_run(folder: Path, command: str = "") -> "Run":
    """The run in a folder, if it has weights and a task that the command is for."""
    from regard import tasks
    from regard.run import Run

    run = Run.open(folder)
    fitting = [name for name, entry in tasks.TASKS.items() if command in entry.commands]
    if fitting and run.task_name() not in fitting:
        run.recipe_for(*fitting)  # says what the run is for
    run.require_weights()
    return run


def check_inputs(*paths: Path | None) -> None:
    """Files to read; None is an option that was not given."""
    from regard.data.lines import check_file

    for path in paths:
        if path is not None:
            check_file(path)


def check_picture(path: Path | None) -> None:
    if path is not None and path.suffix not in PICTURES:
        raise UsageError(f"{path}: not a kind of picture; end the name in .png, .svg or .pdf")
    check_outputs(path)


def check_outputs(*paths: Path | None) -> None:
    """Files to write; None is an option that was not given."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise RequestError(f"{path}: cannot be written (it is a folder); name a file")
        if not path.parent.is_dir():
            raise RequestError(
                f"{path}: cannot be written (no folder {path.parent}); make it first"
            )
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise RequestError(f"{path}: cannot be written (no permission); choose another name")


def check_new_folder(out: Path) -> None:
    """A folder to write, which must be new or empty."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"{out}: is there already and not empty; choose another folder")
    check_room_for(out)


def check_room_for(out: Path) -> None:
    """A folder to write into, which may be there already."""
    nearest = next(each for each in (out, *out.absolute().parents) if each.exists())
    if not nearest.is_dir():
        raise RunError(f"{out}: cannot be written ({nearest} is a file); choose another folder")
    if not os.access(nearest, os.W_OK):
        raise RunError(f"{out}: cannot be written (no permission); choose another folder")
