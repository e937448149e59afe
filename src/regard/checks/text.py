"""Checks of running text."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from regard.checks.characters import broken_characters
from regard.checks.languages import Languages, languages_of
from regard.checks.report import (
    EXAMPLES,
    Example,
    Fact,
    Finding,
    Report,
    name_of,
    share,
    spread,
    unreadable,
)
from regard.checks.sample import MOST, Blocks
from regard.checks.sides import other_languages
from regard.errors import DataError

Line = tuple[str, str]  # a line and its place

# A line shorter than this may well occur twice.
LONG_LINE = 40
DUPLICATES_ODD = 0.1
LEAST_LINES = 20
# Signs of a file that is no running text: columns, markup, numbers.
SAME_COLUMNS, MARKUP_ODD, NUMBERS_ODD = 0.95, 0.3, 0.5
MARKUP = "p|br|div|span|a|b|i|em|li|ul|td|tr|h[1-6]|img|ref|body|html"
TAG = re.compile(rf"</?(?:{MARKUP})\b[^<>]*>", re.IGNORECASE)
NUMBER = re.compile(r"[\d\s.,;:+/%-]+")
LITTLE = 20_000  # characters
SAMPLES = 5


@dataclass
class TextCounts:
    """What one reading of all lines counts, and a sample of them."""

    sample: Blocks[Line] = field(default_factory=Blocks)
    characters: int = 0
    words: int = 0
    long_lines: int = 0
    duplicates: int = 0
    first_duplicates: list[Example] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    more: bool = False  # than were read

    @classmethod
    def of(cls, lines: Iterable[Line]) -> "TextCounts":
        found, reading = cls(), iter(lines)
        for text, place in islice(reading, MOST):
            found.add(text, place)
        found.more = next(reading, None) is not None
        return found

    def add(self, text: str, place: str) -> None:
        self.characters += len(text) + 1
        if not text.strip():
            return
        self.sample.add((text, place))
        self.words += text.count(" ") + 1
        if len(text) >= LONG_LINE:
            self.long_lines += 1
            if (key := hash(text)) in self.seen:
                self.duplicates += 1
                if len(self.first_duplicates) < EXAMPLES:
                    self.first_duplicates.append(Example(place, (text,)))
            self.seen.add(key)


@dataclass(frozen=True)
class Text:
    counts: TextCounts
    name: str

    @cached_property
    def sample(self) -> list[Line]:
        return list(self.counts.sample)

    @cached_property
    def languages(self) -> Languages:
        return languages_of(self.sample)


def check_text(
    files: Sequence[object],
    read: Callable[[], Iterator[Line]],
    read_valid: Callable[[], Iterator[Line]] | None = None,
) -> Report:
    """Look at running text, and at that for validation if there is any."""
    named = tuple(map(str, files))
    try:
        found = Text(TextCounts.of(read()), name_of(named))
        if not found.counts.words:
            raise DataError(
                f"{named[0]}: the training texts are empty; give some text to learn from"
            )
        valid = Text(TextCounts.of(read_valid()), "validation") if read_valid else None
    except DataError as error:
        return unreadable("text", named, error)
    findings = [*findings_of(found)]
    if valid is not None:
        findings += overlap(found, valid)
    samples = tuple(Example(place, (text,)) for text, place in spread(found.sample, SAMPLES))
    return Report("text", named, tuple(facts_of(found)), tuple(findings), samples)


def findings_of(text: Text) -> Iterator[Finding]:
    counts, sample, name = text.counts, text.sample, text.name
    yield from broken_characters(sample, name)
    yield from other_languages(text.languages, name)
    if len(sample) >= LEAST_LINES:
        yield from no_running_text(sample, name)
    if counts.duplicates:
        odd = counts.duplicates > DUPLICATES_ODD * counts.long_lines
        yield Finding(
            "duplicates",
            "warning" if odd else "note",
            f"{name}: {share(counts.duplicates, counts.long_lines)} lines of at least {LONG_LINE} "
            "characters occur earlier",
            "keep one of each: a language model learns them by heart" if odd else "",
            tuple(counts.first_duplicates),
        )
    if counts.characters < LITTLE:
        yield Finding(
            "little",
            "note",
            f"{name}: {counts.characters:,} characters are little to learn a language from",
        )


def no_running_text(sample: list[Line], name: str) -> Iterator[Finding]:
    """A table, markup or numbers, taken for text."""
    examples = tuple(Example(place, (line,)) for line, place in sample[:EXAMPLES])
    tabs, count = Counter(line.count("\t") for line, _ in sample).most_common(1)[0]
    if tabs and count >= SAME_COLUMNS * len(sample):
        yield Finding(
            "table",
            "warning",
            f"{name}: nearly every line has {tabs + 1} columns, so this is a table and no text",
            "name it .tsv, of which the column of text is read, or give it with another flag",
            examples,
        )
    numbers = sum(NUMBER.fullmatch(line) is not None for line, _ in sample)
    if numbers > NUMBERS_ODD * len(sample):
        yield Finding(
            "numbers",
            "warning",
            f"{name}: {share(numbers, len(sample))} lines are only numbers",
            "check that this is the text that was meant",
            examples,
        )
    tagged = [(line, place) for line, place in sample if TAG.search(line)]
    if len(tagged) > MARKUP_ODD * len(sample):
        yield Finding(
            "markup",
            "warning",
            f"{name}: {share(len(tagged), len(sample))} lines have tags, which would be learned",
            "remove the markup, unless the model should write it",
            tuple(Example(place, (line,)) for line, place in tagged[:EXAMPLES]),
        )


def overlap(train: Text, valid: Text) -> Iterator[Finding]:
    long = [(line, place) for line, place in valid.sample if len(line) >= LONG_LINE]
    same = [(line, place) for line, place in long if hash(line) in train.counts.seen]
    if len(same) > max(EXAMPLES, 0.05 * len(long)):
        yield Finding(
            "overlap",
            "warning",
            f"{share(len(same), len(long))} validation lines are also in the training text, so "
            "validation says too much",
            "validate on text that is not learned",
            tuple(Example(place, (line,)) for line, place in same[:EXAMPLES]),
        )


def facts_of(text: Text) -> Iterator[Fact]:
    counts, sample = text.counts, text.sample
    more = "at least " if counts.more else ""
    lines = counts.sample.count
    whole = len(sample) == lines
    closely = "" if whole else f"; {len(sample):,} of them, evenly spread, were looked at closely"
    yield Fact("lines", f"{more}{lines:,} with text{closely}", lines)
    yield Fact("sampled", f"{len(sample):,}", len(sample))
    yield Fact("words", f"{counts.words:,}", counts.words)
    yield Fact("characters", f"{counts.characters:,}", counts.characters)
    yield Fact("language", str(text.languages), text.languages.main)
