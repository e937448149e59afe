"""Standard input, output and errors, whatever the program was started with."""

import errno
import io
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

from regard.errors import visible


def prepare_streams() -> None:
    """A program may be started without standard input, output or errors, or where these know no
    letters beyond ASCII. Files and pipes are UTF-8 everywhere.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            shows_its_own = stream.isatty() and is_more_than_ascii(stream.encoding)
            encoding = stream.encoding if shows_its_own else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


class ClosedOutput(io.TextIOBase):
    """Standard output that was closed before the program started. What has results to write fails,
    and what has none does not.
    """

    def __init__(self) -> None:
        super().__init__()
        os.open(os.devnull, os.O_WRONLY)  # so that no file of ours takes its number

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        if text:
            raise OSError(errno.EBADF, "it is closed")
        return 0


def shorten_warnings() -> None:
    """A warning is one sentence, without the line of code that it comes from."""
    warnings.formatwarning = lambda message, *where: f"regard: warning: {visible(str(message))}\n"


def is_more_than_ascii(encoding: str) -> bool:
    try:
        "é".encode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def as_utf8(words: Sequence[str]) -> list[str]:
    """The words of a command line as UTF-8. Python keeps bytes that its own encoding does not know
    as surrogates, and so they stay in the name of a file that is there.
    """
    return [word if word.isascii() or os.path.exists(word) else decoded(word) for word in words]


def decoded(word: str) -> str:
    try:
        return os.fsencode(word).decode()
    except UnicodeError:
        return word


def forget_output() -> None:
    """What could not be written is not tried again when Python ends."""
    with suppress(OSError):  # where it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
