"""The translations of a document that is not complete: one a line, in a file beside the output."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from regard.errors import RunError
from regard.tasks.translation.confidence import Confidence
from regard.tasks.translation.marked import MarkedTranslation
from regard.text.documents.document import Code, Document, Pieces
from regard.text.documents.sentences import unmarked
from regard.text.marks import Mark


@dataclass(frozen=True)
class Made:
    """The translation of a segment, and how sure it is, if that was asked for and the model made
    it.
    """

    pieces: Pieces
    confidence: Confidence | None = None

    @classmethod
    def of(cls, found: MarkedTranslation, codes: Mapping[Mark, Code]) -> Self:
        """A translation, given the code that each mark stands for."""
        scored = found.output.scored
        return cls(unmarked(found.text, codes), scored.confidence if scored else None)


class Kept:
    """The file of translations of an output that is not complete. Only lines that another call of
    the same model and search has written are read: `mark` is what they depend on beside the text.
    """

    def __init__(self, out: Path, mark: dict[str, Any]) -> None:
        self.path = out.with_name(f"{out.name}.partial")
        self._mark = mark
        self._is_ours = False

    def read(self) -> dict[str, Made]:
        """What is there, by the keys of segments."""
        try:
            lines = self.path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return {}
        found: dict[str, Made] = {}
        with suppress(ValueError, TypeError, LookupError):  # the last line may be half a line
            self._is_ours = bool(lines) and json.loads(lines[0]) == self._mark
            for line in lines[1:] if self._is_ours else ():
                key, pieces, sure = json.loads(line)
                found[key] = Made(
                    tuple(p if isinstance(p, str) else Code(*p) for p in pieces),
                    Confidence.from_facts(sure) if sure else None,
                )
        return found

    def add(self, translations: Mapping[str, Made]) -> None:
        try:
            with self.path.open("a" if self._is_ours else "w", encoding="utf-8") as file:
                if not self._is_ours:
                    file.write(json.dumps(self._mark) + "\n")
                for key, made in translations.items():
                    sure = made.confidence.facts() if made.confidence else None
                    file.write(json.dumps([key, _plain(made.pieces), sure]) + "\n")
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot be written ({error.strerror}); put that right and run the "
                "same command"
            ) from None
        self._is_ours = True

    def remove(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def key_of(document: Document, number: int) -> str:
    return json.dumps(_plain(document.segments[number].pieces), ensure_ascii=False)


def _plain(pieces: Pieces) -> list[Any]:
    return [
        [each.kind, each.raw, each.number, each.shown] if isinstance(each, Code) else each
        for each in pieces
    ]
