"""Reads the log of a run, from where the page stopped reading."""

import os
from pathlib import Path
from typing import Any, BinaryIO

from regard.small_files import open_regular
from regard.training.log import entry_of

# The most bytes that one answer reads; the page asks again at once while there is more.
MOST_BYTES = 1 << 20


def read_on(folder: Path, cursor: int) -> dict[str, Any]:
    """Events after a place in log.jsonl, and the place to continue from.

    A run that resumes from an earlier checkpoint cuts its log back: then all of it is read again.
    """
    path = folder / "log.jsonl"
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            begin = cursor if 0 <= cursor <= size and ends_a_line(file, cursor) else 0
            file.seek(begin)
            data = file.read(MOST_BYTES)
    except OSError:
        return {"events": [], "cursor": 0, "anew": cursor != 0, "more": False}
    whole = data[: data.rfind(b"\n") + 1]
    events = []
    for line in whole.splitlines():
        if event := entry_of(line):  # else it is damaged
            events.append(event)
    end = begin + len(whole)
    return {
        "events": events,
        "cursor": end,
        "anew": begin != cursor,
        "more": len(data) < size - begin,
    }


def ends_a_line(file: BinaryIO, cursor: int) -> bool:
    if cursor == 0:
        return True
    file.seek(cursor - 1)
    return file.read(1) == b"\n"
