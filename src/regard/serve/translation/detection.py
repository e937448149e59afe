"""Detects in which of the loaded languages a text is written."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.text.languages import base_code

MAX_CHARACTERS = 2000


@dataclass(frozen=True)
class DetectedLanguage:
    language: str
    confidence: float  # 0 to 100

    def as_json(self) -> dict[str, Any]:
        return {"confidence": self.confidence, "language": self.language}


class Detector:
    """py3langid, restricted to the languages of the loaded models. It loads in the background,
    since that takes longer than to load a small model.
    """

    def __init__(self, languages: Sequence[str]) -> None:
        self._languages = {base_code(code): code for code in reversed(languages)}
        self._identifier: Any = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._load, name="detector", daemon=True)
        self._thread.start()

    def _load(self) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        known = sorted(self._languages.keys() & set(identifier.labels))
        identifier.set_languages(known or None)
        self._identifier = identifier if known else None

    @property
    def ready(self) -> bool:
        return not self._thread.is_alive()

    def rank(self, text: str) -> list[DetectedLanguage]:
        """Every language with its confidence, the most likely first."""
        self._thread.join()
        if self._identifier is None:
            return [DetectedLanguage(code, 0.0) for code in self._languages.values()]
        with self._lock:
            ranked = self._identifier.rank(text[:MAX_CHARACTERS])
        return [
            DetectedLanguage(self._languages[code], round(100 * share, 1))
            for code, share in ranked
            if code in self._languages
        ]

    def best(self, text: str, among: Sequence[str]) -> DetectedLanguage:
        """The most likely language among some of them."""
        likely = (each for each in self.rank(text) if each.language in among)
        return next(likely, DetectedLanguage(among[0], 0.0))
