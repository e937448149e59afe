"""Uploaded files, and their translations until they are downloaded."""

import re
import secrets
import struct
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePath
from zipfile import BadZipFile, ZipFile

from regard.errors import DataError
from regard.serve.http.refusal import Refusal
from regard.text.documents.document import Document, Wish, words_of
from regard.text.documents.formats import FORMATS, read_document

KEPT_SECONDS = 1800.0
# The most bytes of the members of an archive, such as a .docx, when it is unpacked.
UNPACKED_BYTES = 32 << 20


@dataclass(frozen=True)
class Download:
    name: str
    data: bytes
    characters: int  # that were translated
    until: float


class Downloads:
    """Translated files, kept in memory for half an hour under names that nobody can guess."""

    def __init__(self, max_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._kept: OrderedDict[str, Download] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, name: str, data: bytes, characters: int = 0) -> str:
        """Keep a file and return the name to fetch it under. The oldest files make room for it."""
        key = f"{secrets.token_urlsafe(24)}{PurePath(name).suffix}"
        with self._lock:
            self._kept[key] = Download(name, data, characters, self._clock() + KEPT_SECONDS)
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


def read_file(name: str, data: bytes, wish: Wish) -> Document:
    """The document in an uploaded file."""
    if PurePath(name).suffix.lower() not in FORMATS:
        raise Refusal(400, "Invalid request: file format not supported")
    if not data:
        raise Refusal(400, "Invalid request: empty file")
    if (size := unpacked_bytes(data)) > UNPACKED_BYTES:
        raise Refusal(400, f"Invalid request: the file has {size:,} bytes when it is unpacked")
    try:
        return read_document(harmless(name), data, wish)
    except DataError as error:
        raise Refusal(400, f"Invalid request: {error}") from None


def unpacked_bytes(data: bytes) -> int:
    """How large the members of an archive say they are; 0 for what is no archive."""
    with suppress(BadZipFile, ValueError, OSError, NotImplementedError, struct.error):
        return sum(member.file_size for member in ZipFile(BytesIO(data)).infolist())
    return 0


def translated_name(name: str, target: str) -> str:
    """The name of a translated file: report_de.txt for report.txt in German."""
    path = PurePath(harmless(name))
    return f"{path.stem}_{target}{'.po' if path.suffix == '.pot' else path.suffix}"


def harmless(name: str) -> str:
    """The name of a file without folders. Characters other than ASCII letters and digits are
    replaced.
    """
    path = PurePath(name.replace("\\", "/").rsplit("/", 1)[-1])
    stem = re.sub(r"[^\w.-]+", "_", path.stem, flags=re.ASCII).strip("._")[:80] or "text"
    return f"{stem}{path.suffix.lower()}"


def unfinished(document: Document) -> dict[int, str]:
    """The texts of a document that are to be translated, by the numbers of their segments."""
    return {
        row: words_of(segment.pieces)
        for row, segment in enumerate(document.segments)
        if not segment.finished
    }
