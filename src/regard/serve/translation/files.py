"""Uploaded files, and their translations until they are downloaded."""

import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from regard.serve.http.refusal import Refusal

# The suffixes that are accepted, and whether the file is HTML.
FORMATS = {".txt": False, ".html": True, ".htm": True}
KEPT_SECONDS = 1800.0


@dataclass(frozen=True)
class Download:
    name: str
    data: bytes
    until: float


class Downloads:
    """Translated files, kept in memory for half an hour under names that nobody can guess."""

    def __init__(self, max_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._kept: OrderedDict[str, Download] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, name: str, data: bytes) -> str:
        """Keep a file and return the name to fetch it under. The oldest files make room for it."""
        key = f"{secrets.token_urlsafe(24)}{PurePath(name).suffix}"
        with self._lock:
            self._kept[key] = Download(name, data, self._clock() + KEPT_SECONDS)
            while len(self._kept) > 1 and sum(map(size, self._kept.values())) > self._max_bytes:
                self._kept.popitem(last=False)
        return key

    def fetch(self, key: str) -> Download:
        with self._lock:
            for old in [old for old, each in self._kept.items() if each.until < self._clock()]:
                del self._kept[old]
            if key not in self._kept:
                raise Refusal(404, "there is no such file, or no longer; translate it again")
            return self._kept[key]


def size(download: Download) -> int:
    return len(download.data)


def read_text(name: str, data: bytes) -> tuple[str, bool]:
    """The text of an uploaded file, and whether it is HTML."""
    suffix = PurePath(name).suffix.lower()
    if suffix not in FORMATS:
        raise Refusal(400, "Invalid request: file format not supported")
    if not data:
        raise Refusal(400, "Invalid request: empty file")
    try:
        return data.decode("utf-8-sig"), FORMATS[suffix]
    except UnicodeDecodeError:
        raise Refusal(400, "Invalid request: the file is not UTF-8 text") from None


def translated_name(name: str, target: str) -> str:
    """The name of a translated file: report_de.txt for report.txt in German. Characters other than
    ASCII letters and digits are replaced.
    """
    path = PurePath(name.replace("\\", "/").rsplit("/", 1)[-1])
    stem = re.sub(r"[^\w.-]+", "_", path.stem, flags=re.ASCII).strip("._")[:80] or "text"
    return f"{stem}_{target}{path.suffix.lower()}"
