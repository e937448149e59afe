"""Which of the languages at hand a text is written in."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.serve.translation.languages import base

LONGEST_LOOKED_AT = 2000


@dataclass(frozen=True)
class Detected:
    language: str
    confidence: float  # 0 to 100

    def as_json(self) -> dict[str, Any]:
        return {"confidence": self.confidence, "language": self.language}


class Detector:
    """py3langid, among the languages of the loaded models only. Loads in the background, since
    its table takes longer to unpack than a small model to load.
    """

    def __init__(self, languages: Sequence[str]) -> None:
        self._languages = {base(code): code for code in reversed(languages)}
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

    def rank(self, text: str) -> list[Detected]:
        """Every language with its confidence, the likeliest first."""
        self._thread.join()
        if self._identifier is None:
            return [Detected(code, 0.0) for code in self._languages.values()]
        with self._lock:
            ranked = self._identifier.rank(text[:LONGEST_LOOKED_AT])
        return [
            Detected(self._languages[code], round(100 * share, 1))
            for code, share in ranked
            if code in self._languages
        ]

    def best(self, text: str, among: Sequence[str]) -> Detected:
        """The likeliest of some of the languages."""
        likely = (each for each in self.rank(text) if each.language in among)
        return next(likely, Detected(among[0], 0.0))
