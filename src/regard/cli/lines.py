"""Texts in and answers out, for the commands that answer line by line.

A line that comes slowly is answered at once, and lines that come fast are answered in batches: a
batch is what has arrived while the one before it was answered. In a terminal there is a prompt.
"""

import bz2
import gzip
import io
import os
import queue
import stat
import sys
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TextIO, TypeVar

from cyclopts import Parameter

from regard.errors import DataError, RequestError, UsageError

T = TypeVar("T")
PACKED: dict[str, Callable[[Path, str], Any]] = {".gz": gzip.open, ".bz2": bz2.open}
CHUNK = 1 << 16
CHUNKS_AHEAD = 64
# A Ctrl-C in the instant before the wait for more lines is seen after this time.
LOOK_SECONDS = 1.0
LONGEST_LINE = 16_000_000
END_KEYS = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"


@dataclass
class FileFlags:
    """Files instead of standard input and output.

    Parameters
    ----------
    input
        Read this file instead of standard input; .gz and .bz2 work, too.
    output
        Write this file instead of standard output; it appears when it is complete. `translate`
        writes a .tmx with texts and translations.
    """

    input: Path | None = None
    output: Path | None = None

    def check(self, texts: Sequence[str] = ()) -> None:
        """Refuse what cannot be meant, before any work is done."""
        from regard.cli.checks import check_inputs, check_outputs

        if self.input is not None:
            if texts:
                raise UsageError(f"--input {self.input}: give texts or a file, not both")
            if not is_empty(self.input):
                check_inputs(self.input)
        check_outputs(self.output)
        if self.output is None or not self.output.is_file():
            return
        if os.path.samestat(self.output.stat(), self.source()):
            raise RequestError(
                f"--output {self.output}: is what is read; write the answers to another file"
            )

    def source(self) -> os.stat_result:
        """What is read, as the system knows it."""
        if self.input is not None:
            return self.input.stat()
        try:
            return os.fstat(sys.stdin.fileno())
        except (OSError, ValueError):  # it is no file
            return os.stat(os.devnull)

    @contextmanager
    def answers(self) -> Iterator[None]:
        """Send standard output to the file, if one was asked for: all of it or nothing."""
        if self.output is None:
            yield
            return
        from regard.files import replacing

        path = Path(os.path.realpath(self.output))
        if path.exists() and not path.is_file():  # a device or a named pipe
            with writing(path) as file, redirect_stdout(file):
                yield
            return
        with replacing(path) as temporary, writing(temporary) as file, redirect_stdout(file):
            yield


Files = Annotated[FileFlags | None, Parameter(name="*")]


def writing(path: Path) -> TextIO:
    if path.suffix in PACKED:
        return io.TextIOWrapper(PACKED[path.suffix](path, "wb"), "utf-8", newline="\n")
    return path.open("w", encoding="utf-8", newline="\n")


def is_empty(path: Path) -> bool:
    """Whether a file has nothing in it: then there is nothing to answer, which is no error."""
    return path.is_file() and path.stat().st_size == 0


def batches(
    texts: Sequence[str], files: FileFlags, size: int, prompt: str = "text"
) -> Iterator[list[str]]:
    """The texts to answer, at most `size` at a time: those that are given, or the lines of the
    file or of standard input. Answer i is for line i.
    """
    if texts:
        return cut(texts, size)
    if files.input is not None:
        return cut(file_lines(files.input), size)
    if is_typed(texts, files):
        return typed(prompt)
    lines = arriving(size) if is_live(sys.stdin) else cut(sys.stdin.buffer, size)
    return decoded(lines)


def is_typed(texts: Sequence[str], files: FileFlags) -> bool:
    """Whether a person types the texts, one by one."""
    return not texts and files.input is None and sys.stdin.isatty()


def cut(items: Iterable[T], size: int) -> Iterator[list[T]]:
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def file_lines(path: Path) -> Iterator[str]:
    from regard.data.lines import lines

    return iter(()) if is_empty(path) else (line for line, _ in lines(path))


def is_live(stream: TextIO) -> bool:
    """Whether more may come later: not from a file, whose lines are all there."""
    try:
        return not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def arriving(size: int) -> Iterator[list[bytes]]:
    """Lines of standard input as they arrive: at least one, and at most `size` that are there."""
    chunks: queue.Queue[list[bytes] | None] = queue.Queue(CHUNKS_AHEAD)
    # It reads a descriptor of its own: a thread that waits inside sys.stdin would be in the way
    # when Python ends.
    descriptor = os.dup(sys.stdin.fileno())
    threading.Thread(target=read_chunks, args=(descriptor, chunks), daemon=True).start()
    waiting: deque[bytes] = deque()
    ended = False
    while True:
        while not ended and len(waiting) < size:
            try:
                found = chunks.get(block=not waiting, timeout=LOOK_SECONDS)
            except queue.Empty:
                if waiting:
                    break
                continue
            ended = found is None
            waiting += found or ()
        if not waiting:
            return
        yield [waiting.popleft() for _ in range(min(size, len(waiting)))]


def read_chunks(descriptor: int, chunks: "queue.Queue[list[bytes] | None]") -> None:
    """Put whole lines into the queue, all that came at once together, and None at the end."""
    rest = b""
    with suppress(OSError):  # a terminal that is gone: that is the end as well
        while chunk := os.read(descriptor, CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            if lines:
                chunks.put(lines)
            if len(rest) > LONGEST_LINE:
                break
    os.close(descriptor)
    if rest:
        chunks.put([rest])
    chunks.put(None)


def decoded(batches: Iterable[list[bytes]]) -> Iterator[list[str]]:
    """Lines as text. Those before a line that is none are answered before it is refused."""
    number = 0
    for batch in batches:
        texts: list[str] = []
        for line in batch:
            number += 1
            try:
                texts.append(text_of(line, number))
            except DataError:
                if texts:
                    yield texts
                raise
        yield texts


def text_of(line: bytes, number: int) -> str:
    if len(line) > LONGEST_LINE:
        raise DataError(
            f"standard input:{number}: the line is longer than {LONGEST_LINE:,} bytes; "
            "put one text on each line"
        )
    return utf8(line, "standard input", number).rstrip("\r\n")


def utf8(data: bytes, where: str, number: int = 1) -> str:
    """Bytes as text; `number` is that of their first line."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        number += data.count(b"\n", 0, error.start)
        raise DataError(
            f"{where}:{number}: not valid UTF-8 (byte 0x{data[error.start]:02x}); "
            "save the text as UTF-8"
        ) from None


def typed(prompt: str) -> Iterator[list[str]]:
    """What a person types, line by line."""
    sys.stderr.write(f"Type a text and press Enter. {END_KEYS} ends.\n")
    while True:
        try:
            line = ask(f"{prompt}> ")
        except (EOFError, KeyboardInterrupt) as stopped:
            sys.stderr.write("\n")
            if isinstance(stopped, EOFError):
                return
            raise
        except UnicodeDecodeError:
            sys.stderr.write("That is not UTF-8; type it again.\n")
            continue
        if line.strip():
            yield [line]


def ask(prompt: str) -> str:
    """A line from the terminal, with a history where there is one."""
    if sys.stdout.isatty():
        with suppress(ImportError):  # not everywhere
            import readline  # noqa: F401
        return input(prompt)
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")


def whole_text(path: Path | None) -> str:
    """All of a file, or of standard input, as one text."""
    if path is None:
        data, where = sys.stdin.buffer.read(), "standard input"
    else:
        data, where = whole_file(path), str(path)
    return utf8(data, where).replace("\r\n", "\n")


def whole_file(path: Path) -> bytes:
    try:
        with PACKED.get(path.suffix, open)(path, "rb") as file:
            return bytes(file.read())
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error}); check the file") from None
