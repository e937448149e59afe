"""The corrections that a run was taught: one JSON object a line, in corrections.jsonl."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from regard.data.corpus import Pair
from regard.errors import RunError
from regard.files import write_file
from regard.run import Run
from regard.small_files import parse_json, read_small, refusing
from regard.tasks.translation.confidence import Calibration, Confidence
from regard.tasks.translation.marked import MarkedTranslation, Output
from regard.tasks.translation.translation import Translation
from regard.text.marks import MarkedText
from regard.text.memory import Match, Memory, plain

Given = TypeVar("Given")
Found = TypeVar("Found")

# The most bytes of the file.
LARGEST = 256 << 20


@dataclass(frozen=True)
class Corrections:
    """Sources and their translations as a person wants them; the last of a source counts."""

    run: Run

    @property
    def path(self) -> Path:
        return self.run.folder / "corrections.jsonl"

    def pairs(self) -> dict[str, str]:
        try:
            lines = read_small(self.path, LARGEST).split(b"\n")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise RunError(f"{self.path}: cannot be read ({error.strerror})") from None
        found: dict[str, str] = {}
        for number, line in enumerate(lines, start=1):
            if line.strip():
                damaged = f"{self.path}:{number}: not a correction; mend or remove the line"
                with refusing(RunError(damaged)):
                    pair = parse_json(line)
                    found[str(pair["source"])] = str(pair["target"])
        return found

    def new(self, pairs: Iterable[Pair]) -> dict[str, str]:
        """Those that it does not have, or has otherwise; empty ones are none."""
        known, given = self.pairs(), dict[str, str]()
        for pair in pairs:
            source, target = plain(pair.source), plain(pair.target)
            if source and target:
                given[source] = target
        return {one: other for one, other in given.items() if known.get(one) != other}

    def add(self, new: dict[str, str]) -> None:
        """Add corrections; they are on the disk when this returns."""
        every = {**self.pairs(), **new}
        write_file(self.path, b"".join(map(line_of, every, every.values())))


def corrections_of(folder: Path) -> Memory | None:
    """What a run was taught; None if that is nothing."""
    pairs = Corrections(Run(folder)).pairs()
    return Memory(pairs.items()) if pairs else None


def line_of(source: str, target: str) -> bytes:
    text = json.dumps({"source": source, "target": target}, ensure_ascii=False)
    return text.encode("utf-8", "replace") + b"\n"


def known_or(
    given: Sequence[Given],
    known: Callable[[Given], Found | None],
    others: Callable[[list[Given]], Sequence[Found]],
) -> list[Found]:
    """What is known of each, or else what is found of the others together."""
    answers = [known(each) for each in given]
    rest = [each for each, answer in zip(given, answers, strict=True) if answer is None]
    found = iter(others(rest) if rest else ())
    return [next(found) if answer is None else answer for answer in answers]


class Remembers:
    """A translator that answers with what its run was taught."""

    calibration: Calibration | None
    # Translations that the run was taught.
    corrections: Memory | None

    def correction(self, text: str) -> Match | None:
        """What the run was taught for exactly this text."""
        return self.corrections.exact(text) if self.corrections else None

    def _corrected_marks(self, text: MarkedText) -> MarkedTranslation | None:
        """A correction of the same text with the same marks, as a translation that is sure."""
        found = self.corrections.exact_marked(text) if self.corrections else None
        if found is None:
            return None
        (scored,) = self._sure(Match(text.without_tags, found.without_tags, 100))
        return MarkedTranslation(found, "kept", output=Output(found.plain, scored=scored))

    def _corrected_text(self, text: str) -> str | None:
        match = self.correction(text)
        return match.target if match else None

    def corrected(self, text: str) -> list[Translation] | None:
        """A correction as a translation that is sure."""
        match = self.correction(text)
        return None if match is None else self._sure(match)

    def _sure(self, match: Match) -> list[Translation]:
        sure = Confidence(1.0, [(word, 1.0) for word in match.target.split()])
        confidence = sure if self.calibration else None
        return [replace(Translation.taken(match), confidence=confidence)]
