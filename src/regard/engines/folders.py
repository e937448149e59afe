"""Folders that are written completely or not at all."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import RunError
from regard.files import SCRATCH, UMASK, flush


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to write into. It gets the name `path` once everything in it is on the disk."""
    path = Path(os.path.abspath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=path.parent))
    try:
        yield scratch
        scratch.chmod(0o777 & ~UMASK)
        for file in scratch.iterdir():
            flush(file)
        os.rename(scratch, path)
        flush(path.parent)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise RunError(
                f"{path}: is there already and not empty; choose another folder or remove it"
            ) from None
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
