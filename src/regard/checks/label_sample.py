"""Labelled texts as a check reads them: counts of all, and a sample to look at closely."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from regard.checks.languages import Languages, languages_of
from regard.checks.report import EXAMPLES, Example
from regard.checks.sample import MOST, Blocks
from regard.data.labelled import Labelled

# Fewer examples than this are not judged as a whole.
LEAST_EXAMPLES = 20


@dataclass
class LabelCounts:
    """What one reading of all examples counts, and a sample of them."""

    sample: Blocks[Labelled] = field(default_factory=Blocks)
    labels: Counter[str] = field(default_factory=Counter)
    words: int = 0
    empty: int = 0
    duplicates: int = 0
    conflicts: int = 0
    first_duplicates: list[Example] = field(default_factory=list)
    first_conflicts: list[Example] = field(default_factory=list)
    seen: dict[int, int] = field(default_factory=dict)  # hash of the text: hash of its labels
    more: bool = False  # than were read

    @property
    def total(self) -> int:
        return self.sample.count

    @classmethod
    def of(cls, examples: Iterable[Labelled]) -> "LabelCounts":
        found, reading = cls(), iter(examples)
        for example in islice(reading, MOST):
            found.add(example)
        found.more = next(reading, None) is not None
        return found

    def add(self, example: Labelled) -> None:
        self.sample.add(example)
        self.labels.update(example.labels)
        self.words += sum(len(unit.split()) for unit in example.units)
        self.empty += not any(map(str.strip, example.units))
        key, labels = hash(example.units), hash(example.labels)
        known = self.seen.setdefault(key, labels)
        if known == labels and len(self.seen) < self.total - self.duplicates - self.conflicts:
            self.duplicates += 1
            if len(self.first_duplicates) < EXAMPLES:
                self.first_duplicates.append(shown(example))
        elif known != labels:
            self.conflicts += 1
            if len(self.first_conflicts) < EXAMPLES:
                self.first_conflicts.append(shown(example))


def shown(example: Labelled) -> Example:
    """The text and its label; of a sentence, the words and theirs."""
    text, labels = " ".join(example.units), " ".join(example.labels)
    return Example(example.place, (text, labels))


@dataclass(frozen=True)
class LabelledTexts:
    """Labelled texts that were read, and what is to be seen on them."""

    counts: LabelCounts
    name: str  # of the file

    @cached_property
    def sample(self) -> list[Labelled]:
        return list(self.counts.sample)

    @cached_property
    def languages(self) -> Languages:
        return languages_of((" ".join(each.units), each.place) for each in self.sample)

    @property
    def judged(self) -> bool:
        return self.counts.total >= LEAST_EXAMPLES
