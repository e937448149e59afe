"""log.jsonl, a line for each event, cut back to the checkpoint when a run resumes; TensorBoard.

Each line ends with a checksum of its values, so that a damaged one is not taken for a result.
"""

import json
import math
import zlib
from pathlib import Path
from typing import Any, Self

from regard.errors import RunError
from regard.files import without_checksum, write_file
from regard.small_files import UNEXPECTED, open_regular, parse_json, read_small

# The most bytes of a log that a training resumes.
LARGEST = 1 << 30
LONGEST_LINE = 1 << 20


class Log:
    """The log from a step on. Lines after that step are removed: its updates will run again."""

    def __init__(self, folder: Path, step: int, tensorboard: bool) -> None:
        self.path = folder / "log.jsonl"
        if self.path.exists():
            lines = read_small(self.path, LARGEST).split(b"\n")
            kept = [line for line in lines if is_before_checkpoint(entry_of(line), step)]
            write_file(self.path, b"".join(line + b"\n" for line in kept))
        self.board = open_board(folder / "tensorboard", step) if tensorboard else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.board is not None:
            self.board.close()

    def write(self, event: str, step: int, values: dict[str, Any]) -> None:
        # JSON has no NaN, so values that are not finite become null.
        finite = {name: None if is_not_finite(value) else value for name, value in values.items()}
        try:
            with self.path.open("ab") as file:
                file.write(line_of({"event": event, "step": step, **finite}) + b"\n")
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot be written ({error.strerror}); "
                "put that right and run the same command"
            ) from None
        if self.board is not None:
            for name, value in finite.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    self.board.add_scalar(f"{event}/{name}", value, step)


def is_not_finite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def line_of(entry: dict[str, Any]) -> bytes:
    """A line with its checksum, as UTF-8 can hold it."""
    text = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace")
    plain = parse_json(text)
    return json.dumps({**plain, "crc32": checksum(plain)}, ensure_ascii=False).encode()


def entry_of(line: bytes) -> dict[str, Any] | None:
    """The entry of a line; None if it is damaged. Earlier versions wrote no checksums."""
    try:
        entry = parse_json(line)
        values = without_checksum(entry, "crc32", checksum)
        if values is not None:
            return {**values, "step": int(values["step"])}
    except UNEXPECTED:
        pass
    return None


def checksum(entry: dict[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(entry, sort_keys=True).encode()):08x}"


def damaged_lines(path: Path) -> list[int]:
    """The numbers of damaged lines. A last line that a crash has cut off is none of them."""
    try:
        with open_regular(path) as file:
            found = []
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=1):
                whole = line.endswith(b"\n") and line.strip()
                if len(line) == LONGEST_LINE or (whole and entry_of(line) is None):
                    found.append(number)
                if len(line) == LONGEST_LINE:
                    break  # what follows is no log
            return found
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror or error})") from None


def remarks(path: Path) -> list[str]:
    """A sentence that names the damaged lines, if there are any."""
    numbers = [f"{number:,}" for number in damaged_lines(path)]
    if not numbers:
        return []
    some = f"{', '.join(numbers[:5])}{' and more' * (len(numbers) > 5)}"
    return [f"{path}: damaged in line {some}; what it said is lost, and all else is kept"]


def is_before_checkpoint(entry: dict[str, Any] | None, step: int) -> bool:
    """Whether an entry is from before the checkpoint of a step. The average is not, which is
    computed after the last checkpoint.
    """
    return entry is not None and entry["step"] < step + (entry.get("event") != "average")


def open_board(folder: Path, step: int) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=step + 1)
