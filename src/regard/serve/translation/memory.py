"""The translation memory: suggested translations, to answer from and to train on."""

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

from regard.errors import RequestError
from regard.serve.http.refusal import Refusal
from regard.small_files import UNEXPECTED, parse_json, read_small
from regard.tasks.translation.memories import recalled
from regard.text.documents.document import Code, Pieces, as_text
from regard.text.memory import Memory

# The most bytes of a file that is read, whatever may be added.
LARGEST = 1 << 30


class TranslationMemory:
    """A folder of files like suggestions.en-de.jsonl with one pair a line. Lines are only appended.

    `regard train --pairs` reads such a file and takes the languages from its name.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._pairs: dict[tuple[str, str, str], str] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(folder.glob("suggestions.*-*.jsonl")):
                self._read(path)
        except OSError as error:
            raise RequestError(
                f"{folder}: suggestions cannot be kept here ({error.strerror}); choose a folder "
                "that may be written to"
            ) from None

    def _read(self, path: Path) -> None:
        content = read_small(path, max(LARGEST, self._max_bytes))
        for number, line in enumerate(content.split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                pair = parse_json(line)
                key = (*pair["languages"], pair["source"])
                self._pairs[key] = pair["target"]
            except UNEXPECTED:
                raise RequestError(
                    f"{path}:{number}: not a suggestion; mend or remove the line"
                ) from None

    def find(self, source: str, target: str, text: str) -> str | None:
        """The last suggestion for exactly this text."""
        return self._pairs.get((source, target, text))

    def add(self, source: str, target: str, text: str, better: str) -> None:
        """Add a suggestion; it is on the disk when this returns. The codes, which become part of a
        file name, must be those of loaded languages.
        """
        pair = {"source": text, "target": better, "languages": [source, target]}
        line = json.dumps(pair, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        path = self._folder / f"suggestions.{source}-{target}.jsonl"
        with self._lock:
            if (path.stat().st_size if path.exists() else 0) + len(line) > self._max_bytes:
                raise Refusal(403, "Suggestions are full on this server.")
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(handle, line)
                os.fsync(handle)
            finally:
                os.close(handle)
            self._pairs[source, target, text] = better


@dataclass(frozen=True)
class Known:
    """What is translated already: what was suggested, and the memories that the operator has given,
    by source and target.
    """

    suggestions: TranslationMemory | None
    memories: Mapping[tuple[str, str], Memory]

    def find(self, source: str, target: str, text: str) -> str | None:
        """The translation of exactly this text. What was suggested comes first."""
        suggested = self.suggestions.find(source, target, text) if self.suggestions else None
        if suggested is not None or (source, target) not in self.memories:
            return suggested
        match = self.memories[source, target].exact(text)
        return match.target if match else None

    def sentence(self, source: str, target: str, pieces: Pieces) -> Pieces | None:
        """The same for a sentence. Of one with formatting, only the memories know how it is."""
        if any(isinstance(piece, Code) and not piece.is_text for piece in pieces):
            return recalled(self.memories.get((source, target)), pieces)
        known = self.find(source, target, as_text(pieces))
        return None if known is None else (known,)

    def whole(self, text: str, source: str, target: str, has_markup: bool) -> str | None:
        """The same for a whole text. What is known are texts, never markup."""
        if has_markup and "<" in text:
            return None
        plain = unescape(text) if has_markup else text
        known = self.find(source, target, plain.strip())
        return escape(known, quote=False) if known and has_markup else known
