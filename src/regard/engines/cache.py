"""Keeps converted runs in the user's own cache. A run folder may be anybody's, so that a conversion
found in one proves nothing.

A kept folder is named by a digest of all that it was made from, and has a manifest with the SHA-256
of each of its files. One that differs from its manifest is not used, but made again.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

from regard.files import SCRATCH, scratch_folder
from regard.made_with import FILES_OF_ANSWERS
from regard.run import Run
from regard.small_files import open_regular, read_small

MANIFEST = "manifest.json"
# The most that is kept; the newest is kept however large it is.
FOLDERS, BYTES = 20, 4 << 30
# After this many seconds nobody works in a temporary folder any more.
ABANDONED = 24 * 60 * 60


def home() -> Path:
    """The folder of all that is kept, where only the user can write; an OSError if there is none.

    It is `regard/engines` in XDG_CACHE_HOME or `~/.cache`.
    """
    named = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(named) if os.path.isabs(named) else Path.home() / ".cache"
    except RuntimeError as error:  # a user without a home
        raise OSError(str(error)) from None
    for folder in (base / "regard", base / "regard" / "engines"):
        folder.mkdir(0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        owned = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if not stat.S_ISDIR(found.st_mode) or not owned:
            raise OSError(f"{folder} is not a folder of your own")
    if stat.S_IMODE(found.st_mode) != 0o700:
        folder.chmod(0o700)
    return folder


def key(run: Run, layout: int) -> str:
    """A digest of everything that a conversion depends on; an OSError where there is no run."""
    findings = ("alignment", "shortlist")
    for finding in findings:
        run.finding(finding)  # refuses a file that is too large before it is read whole
    names = (*FILES_OF_ANSWERS, *(f"{finding}.json" for finding in findings))
    others = [run.folder / name for name in names if (run.folder / name).is_file()]
    files = {path.name: digest(path) for path in (run.model_path, run.recipe_path, *others)}
    versions = {name: version(name) for name in ("regard", "ctranslate2")}
    return hashlib.sha256(json.dumps([layout, versions, files]).encode()).hexdigest()


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def manifest(folder: Path) -> bytes:
    """The digests of all files in a folder."""
    files = sorted(path for path in folder.iterdir() if path.name != MANIFEST)
    return json.dumps({path.name: digest(path) for path in files}, indent=1).encode()


def intact(folder: Path) -> bool:
    """Whether a folder is there, and just as it was written."""
    try:
        return not folder.is_symlink() and read_small(folder / MANIFEST) == manifest(folder)
    except OSError:
        return False


def find(name: str) -> Path | None:
    """What is kept under a name, if it is intact; from now on it counts as used last."""
    try:
        kept = home() / name
    except OSError:
        return None
    if not intact(kept):
        return None
    with suppress(OSError):  # a disk that can only be read
        os.utime(kept)
    return kept


@contextmanager
def made(name: str, convert: Callable[[Path], None], same: Callable[[], bool]) -> Iterator[Path]:
    """Convert into a folder for the block alone, which is kept afterwards, if what it was made from
    is still the `same`. Several processes may do this at once: one conversion is kept.
    """
    with ExitStack() as stack:
        try:
            place = home()
            scratch = stack.enter_context(scratch_folder(place))
            convert(scratch / name)
        except OSError as error:
            elsewhere = stack.enter_context(tempfile.TemporaryDirectory(prefix="regard-"))
            convert(Path(elsewhere, name))
            reason = f"{error.filename}: {error.strerror}" if error.filename else error
            warnings.warn(
                f"the converted model cannot be kept ({reason}), so each start converts it again; "
                "let XDG_CACHE_HOME name a folder that can be written to",
                stacklevel=2,
            )
            yield Path(elsewhere, name)
            return
        yield scratch / name
        with suppress(OSError):  # another process was sooner, or the disk is full
            if same():
                keep(scratch / name, place / name)


def keep(made: Path, kept: Path) -> None:
    """Rename a folder; an OSError where an intact one has that name. A damaged one makes way."""
    (made / MANIFEST).write_bytes(manifest(made))
    made.chmod(0o700)
    if not intact(kept):
        with suppress(FileNotFoundError):
            kept.rename(made.with_name("damaged"))
    made.rename(kept)
    trim(kept.parent)


def trim(place: Path) -> None:
    """Remove what was used longest ago, and what interrupted conversions left behind."""
    ages = {path: time.time() - path.lstat().st_mtime for path in place.iterdir()}
    kept = [path for path in ages if re.fullmatch("[0-9a-f]{64}", path.name)]
    total = 0
    for newer, path in enumerate(sorted(kept, key=ages.__getitem__)):
        total += sum(file.stat().st_size for file in path.iterdir())
        if newer >= FOLDERS or (newer and total > BYTES):
            shutil.rmtree(path, ignore_errors=True)
    for path, age in ages.items():
        if path.name.startswith(SCRATCH) and age > ABANDONED:
            shutil.rmtree(path, ignore_errors=True)
