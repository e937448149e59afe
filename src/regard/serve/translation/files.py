"""Files that are translated whole and fetched once they are ready."""

import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from regard.serve.http.refusal import Refusal

# Suffix → whether it is HTML.
FORMATS = {".txt": False, ".html": True, ".htm": True}
KEPT_SECONDS = 1800.0


@dataclass(frozen=True)
class Download:
    name: str
    data: bytes
    until: float


class Downloads:
    """Translated files in memory, each under a name nobody can guess, for half an hour."""

    def __init__(self, most_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_bytes = most_bytes
        self._clock = clock
        self._kept: OrderedDict[str, Download] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, name: str, data: bytes) -> str:
        """The name to fetch the file under. The oldest make room."""
        key = f"{secrets.token_urlsafe(24)}{PurePath(name).suffix}"
        with self._lock:
            self._kept[key] = Download(name, data, self._clock() + KEPT_SECONDS)
            while len(self._kept) > 1 and sum(map(size, self._kept.values())) > self._most_bytes:
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
    """report.txt in German is report_de.txt; only plain letters are kept of the name."""
    path = PurePath(name.replace("\\", "/").rsplit("/", 1)[-1])
    stem = re.sub(r"[^\w.-]+", "_", path.stem, flags=re.ASCII).strip("._")[:80] or "text"
    return f"{stem}_{target}{path.suffix.lower()}"
