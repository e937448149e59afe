"""What a look at data found: facts, samples, and findings that say what to do."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from textwrap import shorten
from typing import Any, Literal

from regard.errors import DataError

# An error is what cannot be meant, and stops a training; a warning may be meant; a note is good to
# know.
Severity = Literal["error", "warning", "note"]
EXAMPLES = 3
FEW = 20  # examples
SHOWN = 60  # characters of a text in a sentence


@dataclass(frozen=True)
class Example:
    """Texts of the data, and where they stand: "train.en:17"."""

    place: str
    texts: tuple[str, ...]

    def __str__(self) -> str:
        short = (shorten(text, SHOWN, placeholder=" …") for text in self.texts)
        return f"{self.place}: {' / '.join(short)}"


@dataclass(frozen=True)
class Finding:
    """One sentence on what was found, examples of it, and what to do."""

    code: str
    severity: Severity
    sentence: str
    advice: str = ""
    examples: tuple[Example, ...] = ()

    def __str__(self) -> str:
        """Everything in one sentence, as an error has it, with the first example."""
        where = f" ({self.examples[0]})" if self.examples else ""
        return f"{self.sentence}{where}" + (f"; {self.advice}" if self.advice else "")


@dataclass(frozen=True)
class Fact:
    """A line of the report, in words and as JSON has it."""

    name: str
    text: str
    value: Any


@dataclass(frozen=True)
class Report:
    """What was found in some data."""

    kind: str  # "pairs"
    files: tuple[str, ...]
    facts: tuple[Fact, ...] = ()
    findings: tuple[Finding, ...] = ()
    samples: tuple[Example, ...] = ()

    def of(self, severity: Severity) -> list[Finding]:
        return [each for each in self.findings if each.severity == severity]

    @property
    def wrong(self) -> bool:
        """Whether something was found that cannot be meant."""
        return bool(self.of("error"))

    @property
    def unread(self) -> bool:
        """Whether the data could not be read to its end."""
        return any(finding.code == "unreadable" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "files": list(self.files),
            "facts": {fact.name: fact.value for fact in self.facts},
            "findings": [asdict(finding) for finding in self.findings],
            "samples": [asdict(sample) for sample in self.samples],
        }


def unreadable(kind: str, files: Iterable[object], error: DataError) -> Report:
    """The report on data that cannot be read to its end."""
    finding = Finding("unreadable", "error", str(error))
    return Report(kind, tuple(map(str, files)), findings=(finding,))


def few(count: int, name: str) -> Iterator[Finding]:
    """Hardly anything to learn from."""
    if count < FEW:
        are = f"{name.removesuffix('s')} is" if count == 1 else f"{name} are"
        yield Finding(
            "few",
            "warning",
            f"{count:,} {are} hardly enough to learn from, and some are held out of them",
            "give more, and validation files with --valid if there are none to spare",
        )


def name_of(files: Sequence[str]) -> str:
    """What a finding on all files together is about."""
    return files[0] if len(files) == 1 else f"the {len(files)} files"


def share(part: int, whole: int) -> str:
    """17 of 3,000 (0.6 %)"""
    percent = 100 * part / max(1, whole)
    return f"{part:,} of {whole:,} ({percent:.{1 if percent < 10 else 0}f} %)"


def spread(items: Sequence[Any], count: int) -> list[Any]:
    """A few of many, evenly over the whole."""
    if len(items) <= count:
        return list(items)
    return [items[(2 * i + 1) * len(items) // (2 * count)] for i in range(count)]
