"""log.jsonl, a line for each event, cut back to the checkpoint when a run resumes; TensorBoard."""

import json
import math
from pathlib import Path
from typing import Any, Self

from regard.errors import RunError
from regard.files import write_file


class Log:
    """The log from a step on. Lines after that step are removed: its updates will run again."""

    def __init__(self, folder: Path, step: int, tensorboard: bool) -> None:
        self.path = folder / "log.jsonl"
        if self.path.exists():
            kept = [
                line
                for line in self.path.read_bytes().split(b"\n")
                if is_before_checkpoint(line, step)
            ]
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
        line = json.dumps({"event": event, "step": step, **finite}, ensure_ascii=False)
        try:
            with self.path.open("ab") as file:
                file.write(line.encode("utf-8", "replace") + b"\n")
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


def is_before_checkpoint(line: bytes, step: int) -> bool:
    """Whether a line was logged before the checkpoint of a step. An incomplete last line was not,
    nor was the average, which is computed after the last checkpoint.
    """
    try:
        entry = json.loads(line)
        return bool(entry["step"] < step + (entry["event"] != "average"))
    except (ValueError, KeyError, TypeError):
        return False


def open_board(folder: Path, step: int) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=step + 1)
