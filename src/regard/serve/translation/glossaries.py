"""The glossaries of callers, each in a file of a folder.

The first line of a file says whose it is and what it is for; each other line has a term and its
translation. A file is never changed, and is read when it is asked for: another worker may have
written it.
"""

import json
import os
import re
import threading
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from regard.errors import DataError, RequestError
from regard.files import write_file
from regard.serve.http.refusal import Refusal
from regard.small_files import UNEXPECTED, open_regular, parse_json, read_small
from regard.text.glossary import Glossary, glossary_of

# The most glossaries of a caller, and the part of all bytes that they may have.
MOST_OF_CALLER = 1000
CALLER_SHARE = 1 / 4
LONGEST_NAME = 1024
LONGEST_HEAD = 1 << 14
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Head:
    """What a glossary is for; `owner` is the caller who made it, "" if callers have no keys."""

    name: str
    owner: str
    source: str
    target: str
    created: str
    count: int


class Glossaries:
    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            next(folder.iterdir(), None)
        except OSError as error:
            raise RequestError(
                f"{folder}: glossaries cannot be kept here ({error.strerror}); choose a folder "
                "that may be written to"
            ) from None

    def add(
        self, owner: str, name: str, source: str, target: str, glossary: Glossary
    ) -> tuple[str, Head]:
        """Keep a glossary; it is on the disk when this returns."""
        created = datetime.now(UTC).isoformat(timespec="microseconds")
        head = Head(name, owner, source, target, created, len(glossary.entries))
        rows = (f"{term}\t{translation}" for term, translation in glossary.entries.items())
        text = "\n".join([json.dumps(asdict(head)), *rows]) + "\n"
        data = text.encode("utf-8", "replace")
        identity = str(uuid.uuid4())
        with self._lock:
            self._check_room(owner, len(data))
            write_file(self._folder / f"{identity}.txt", data)
        return identity, head

    def _check_room(self, owner: str, size: int) -> None:
        sizes = [(head.owner, each_size) for _, head, each_size in self._heads()]
        of_owner = [each_size for who, each_size in sizes if who == owner]
        room = self._max_bytes * (CALLER_SHARE if owner else 1)
        is_full = size + sum(each_size for _, each_size in sizes) > self._max_bytes
        if is_full or size + sum(of_owner) > room or len(of_owner) >= MOST_OF_CALLER:
            raise Refusal(456, "There is no room for more glossaries; delete some.")

    def all(self, owner: str) -> list[tuple[str, Head]]:
        """The glossaries of a caller, the oldest first."""
        found = [(identity, head) for identity, head, _ in self._heads() if head.owner == owner]
        return sorted(found, key=lambda each: each[1].created)

    def find(self, owner: str, identity: str) -> Head:
        path = self._path(identity)
        try:
            head = read_head(path)
        except (OSError, DataError):
            raise Refusal(404, "glossary not found") from None
        if head.owner != owner:
            raise Refusal(404, "glossary not found")
        return head

    def glossary(self, owner: str, identity: str) -> Glossary:
        self.find(owner, identity)
        return entries_of(self._path(identity))

    def remove(self, owner: str, identity: str) -> None:
        self.find(owner, identity)
        self._path(identity).unlink(missing_ok=True)

    def _path(self, identity: str) -> Path:
        if not _ID.fullmatch(identity):
            raise Refusal(404, "glossary not found")
        return self._folder / f"{identity}.txt"

    def _heads(self) -> Iterator[tuple[str, Head, int]]:
        """The id, the head and the bytes of each glossary; other files are left alone."""
        for entry in os.scandir(self._folder):
            if entry.name.endswith(".txt") and _ID.fullmatch(identity := entry.name[:-4]):
                try:
                    yield identity, read_head(Path(entry)), entry.stat().st_size
                except (OSError, DataError):
                    continue  # removed in this moment, or damaged


def read_head(path: Path) -> Head:
    with open_regular(path) as file:
        line = file.readline(LONGEST_HEAD)
    try:
        return Head(**parse_json(line))
    except UNEXPECTED:
        raise DataError(f"{path}: not a glossary") from None


@lru_cache(maxsize=32)
def entries_of(path: Path) -> Glossary:
    """The entries of a glossary, whose file never changes."""
    rows = read_small(path, 1 << 30).decode().rstrip("\n").split("\n")[1:]
    return glossary_of((term, translation) for term, _, translation in map(cut, rows))


def cut(row: str) -> tuple[str, str, str]:
    return row.partition("\t")
