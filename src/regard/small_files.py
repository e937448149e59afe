"""Reads files that may be anybody's.

A folder from a stranger may hold a link to a private file, a pipe that nobody writes to, a device
without an end, or gigabytes that are one hole. So a file must be a regular one and is read up to a
limit. What cannot be read is an OSError that says why, and what cannot be parsed is a ValueError.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from regard.errors import RegardError, RunError

# The most that a file of settings or facts may have.
LARGEST = 8 << 20
# How deep lists and tables may lie inside each other.
DEEPEST = 32
# How many brackets a JSON text may have. Each pair is a list or a table in memory.
MOST_BRACKETS = 4_000_000
# What a parser throws, and what is thrown where a value has another shape than it should.
UNEXPECTED = (
    *(ValueError, RecursionError, ArithmeticError, LookupError, TypeError, AttributeError),
)
_CHUNK = 1 << 20
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def open_regular(path: Path, *, links: bool = False) -> BufferedReader:
    """Open a regular file for reading, without waiting. A link is refused, unless a person has
    named the file: then `links` may lead to it.
    """
    _check(path, path.stat() if links else path.lstat())
    # A pipe that takes the file's place in this moment is not waited for.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags | (0 if links else getattr(os, "O_NOFOLLOW", 0)))
    try:
        _check(path, os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "it is a link, which is not followed", str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_small(path: Path, limit: int = LARGEST, *, links: bool = False) -> bytes:
    """The content of a regular file that is no larger than a limit."""
    with open_regular(path, links=links) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(limit + 1) if size <= limit else b""
    if max(size, len(content)) > limit:
        reason = f"it has {size / 1e6:,.1f} MB, more than the {limit / 1e6:,.0f} that it may have"
        raise OSError(errno.EFBIG, reason, str(path))
    return content


def read_json(path: Path, limit: int = LARGEST) -> Any:
    """The value in a JSON file; OSError or ValueError where there is none."""
    return parse_json(read_small(path, limit))


def required_json(path: Path, limit: int = LARGEST) -> Any:
    """The value in a JSON file of a run folder; a RunError where there is none."""
    try:
        return read_json(path, limit)
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror})") from None
    except UNEXPECTED:
        raise RunError(f"{path}: damaged (not valid JSON)") from None


def parse_json(content: bytes | str) -> Any:
    """The value of a JSON text in UTF-8; a ValueError where it is none, or its lists and tables are
    too deep or too many.
    """
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if is_deep(brackets_of(data)):
        raise ValueError(f"brackets that do not match, or more than {DEEPEST} inside each other")
    return json.loads(content if isinstance(content, str) else content.decode("utf-8-sig"))


def brackets_of(text: bytes) -> bytes:
    """The brackets of a JSON text that are in no string."""
    import numpy as np  # a command that reads no JSON does without

    text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    found, inside = [], np.uint8(0)
    for start in range(0, len(text), _CHUNK):
        part = np.frombuffer(text, np.uint8, min(_CHUNK, len(text) - start), start)
        strings = (np.cumsum(part == ord('"'), dtype=np.uint8) + inside) & 1
        inside = strings[-1]
        found.append(part[strings == 0].tobytes().translate(None, _NO_BRACKETS))
    return b"".join(found)


def is_deep(brackets: bytes) -> bool:
    """Whether brackets, without what is between them, lie too deep or are too many."""
    if len(brackets) > MOST_BRACKETS:
        return True
    for _ in range(DEEPEST):
        if len(brackets) <= DEEPEST:
            return False  # whatever does not match is for the parser to explain
        rest = brackets.replace(b"[]", b"").replace(b"{}", b"")
        # Each innermost pair is inside fewer than DEEPEST others, so this many pairs are innermost.
        if (len(brackets) - len(rest)) * DEEPEST < len(brackets):
            return True
        brackets = rest
    return True


@contextmanager
def refusing(refusal: RegardError) -> Iterator[None]:
    """Raise a sentence in place of what a parser throws, or a value of the wrong shape."""
    try:
        yield
    except UNEXPECTED:
        raise refusal from None


def real_folder(path: Path) -> bool:
    """Whether this is a folder, and no link to one."""
    return path.is_dir() and not path.is_symlink()


def link_in(folder: Path) -> Path | None:
    """A folder that is a link, or a link in it at any depth; None where there is none."""
    if folder.is_symlink():
        return folder
    waiting = [folder]
    while waiting:
        # What is not there, or cannot be listed, is not read either.
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    return Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
    return None
