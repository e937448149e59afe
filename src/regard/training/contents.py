"""Vouches for what training reads: the encoded data, which must not be damaged or of another run,
and the files that it came from, which may change before a run resumes.
"""

import hashlib
import shutil
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard import tasks
from regard.errors import RunError
from regard.files import read_json, read_metadata, write_json
from regard.made_with import CONTENTS, MadeWith, digest
from regard.recipe import Recipe
from regard.run import Run
from regard.training.events import Event, Note
from regard.training.setup import FoundSetup, TrainingSetup
from regard.training.team import Team

# What is not a part of the data: a lock, and what vouches for the rest.
NOT_DATA = ("lock", Path(CONTENTS).name)


def prepared(
    run: Run, recipe: Recipe, members: Team
) -> Generator[Event, None, tuple[TrainingSetup | FoundSetup, MadeWith]]:
    """The setup of a training, and what its weights are made with. The leader checks that all that
    an earlier start has left is intact and belongs together.
    """
    with members.leader_first():
        before = signature(run)
        if members.leads:
            check(run)
            check_started(run, MadeWith.of(run, recipe))
        setup = yield from tasks.get(recipe.task).setup(run, recipe)
        encoded_now = signature(run) != before
        if members.leads and (encoded_now or not noted(run)):
            note(run, recipe)
        elif members.leads:
            yield from changes(run, recipe)
        made_with = MadeWith.of(run, recipe, noted(run).get("corpus"))
        if members.leads:
            try:
                check_started(run, made_with)
            except RunError:
                if encoded_now:  # so that the next start reads the files again
                    shutil.rmtree(run.training / "data", ignore_errors=True)
                raise
    return setup, made_with


def signature(run: Run) -> dict[Path, tuple[int, int]]:
    """Sizes and times of the encoded data, which show whether a start has made it."""
    found = {path: path.stat() for path in encoded(run)}
    return {path: (each.st_size, each.st_mtime_ns) for path, each in found.items()}


def encoded(run: Run) -> Iterator[Path]:
    for path in sorted((run.training / "data").rglob("*")):
        if path.is_file() and path.name not in NOT_DATA:
            yield path


def noted(run: Run) -> dict[str, dict[str, str]]:
    """SHA-256 of the encoded files and of those that they came from, by name; empty before they
    were noted.
    """
    path = run.folder / CONTENTS
    if not path.exists():
        return {}
    with suppress(RunError):
        match read_json(path):
            case {"files": dict(), "corpus": dict()} as found:
                return found
    raise damaged(path, run)


def note(run: Run, recipe: Recipe) -> None:
    folder = run.training / "data"
    files = {path.relative_to(folder).as_posix(): digest(path) for path in encoded(run)}
    if files:
        write_json(run.folder / CONTENTS, {"files": files, "corpus": corpus(recipe)})


def check(run: Run) -> None:
    """Check that the encoded data is as it was written. A gigabyte takes a second or two at each
    start; without the check a run could train for days on a damaged file.
    """
    for name, expected in noted(run).get("files", {}).items():
        path = run.training / "data" / name
        # What is missing is encoded again.
        if path.exists() and digest(path) != expected:
            raise damaged(path, run)


def damaged(path: Path, run: Run) -> RunError:
    return RunError(
        f"{path}: damaged, or not what was encoded for this run; delete the folder "
        f"{run.training / 'data'} and start the run again to encode the data"
    )


def check_started(run: Run, now: MadeWith) -> None:
    """Check that the weights of a run that was started, and one of its checkpoints, are of what is
    there now; `restore` sets others aside.
    """
    misfits = []
    for path in reversed(run.checkpoints()):
        before = MadeWith.read(read_metadata(path), path)
        misfits.append(before.misfit(now) if before else "")
    if misfits and all(misfits):
        raise RunError(
            f"{run.training}: its checkpoints are of another run, or this one has changed "
            f"({misfits[0]}); put that back, or choose another --out"
        )
    if run.checkpoints() and run.model_path.exists():
        before = MadeWith.read(read_metadata(run.model_path), run.model_path)
        if before and (misfit := before.misfit(now)):
            raise RunError(
                f"{run.model_path}: the weights of another run ({misfit}); put those of this run "
                "back, or choose another --out"
            )


def changes(run: Run, recipe: Recipe) -> Iterator[Note]:
    """A warning if the files that were learned from have changed; they are not read again."""
    before, now = noted(run)["corpus"], corpus(recipe)
    if changed := [name for name in before if now.get(name, before[name]) != before[name]]:
        yield Note(
            f"{' and '.join(changed)}: changed since this run began, which resumes with what it "
            "read then; choose another --out to learn from what is there now",
            warning=True,
        )


def corpus(recipe: Recipe) -> dict[str, str]:
    """SHA-256 of the files that a recipe learns from, by the names that it gives them; of a folder,
    of the names and sizes of what is in it.
    """
    data: Any = getattr(recipe, "data", None)
    found = {}
    for part in ("train", "valid"):
        for name in getattr(data, part, None) or ():
            path = Path(data.folder, name)
            if content := listing(path) if path.is_dir() else digest(path, links=True):
                found[str(name)] = content
    return found


def listing(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            found.update(f"{name}\t{path.stat().st_size}\n".encode("utf-8", "surrogateescape"))
    return found.hexdigest()
