"""Checks of sentences whose words have labels."""

from collections import Counter
from collections.abc import Iterator, Sequence

from regard.checks.characters import DIGITS, is_header
from regard.checks.label_sample import LabelledTexts
from regard.checks.labelled import LONG_LABEL, MANY_LABELS, Read, look
from regard.checks.report import EXAMPLES, Example, Finding, Report, share

# A sentence of more words than this has lost the empty lines around it.
LONGEST_SENTENCE = 1000
# Words are many and labels few: with this many times as many labels, they are swapped.
MORE_LABELS = 5
NUMBERS_WRONG = 0.9


def check_tagged(files: Sequence[object], read: Read, read_valid: Read | None = None) -> Report:
    """Look at tagged sentences, and at those for validation if there are any."""
    return look("tagged", files, read, read_valid, findings_of)


def findings_of(sentences: LabelledTexts) -> Iterator[Finding]:
    counts, name = sentences.counts, sentences.name
    first = sentences.sample[0]
    if is_header((first.units[0], first.labels[0])):
        yield Finding(
            "header",
            "warning",
            f"{first.place}: the first line seems to name the columns, and would be learned as a "
            "word",
            "remove the line",
            (Example(first.place, (first.units[0], first.labels[0])),),
        )
    examples = tuple(
        Example(first.place, (word, label))
        for word, label in zip(first.units[:EXAMPLES], first.labels[:EXAMPLES], strict=True)
    )
    longest = max(len(each.units) for each in sentences.sample)
    if wrong := next(columns(sentences), None):
        code, sentence, advice = wrong
        yield Finding(code, "error", f"{name}: {sentence}", advice, examples)
    elif longest > LONGEST_SENTENCE:
        yield Finding(
            "no-sentences",
            "error" if counts.total < EXAMPLES else "warning",
            f"{name}: a sentence of {longest:,} words",
            "put an empty line after each sentence",
            examples,
        )


def columns(sentences: LabelledTexts) -> Iterator[tuple[str, str, str]]:
    """Columns that hold something else than words and their labels: a code, what they hold and what
    to do.
    """
    labels = sentences.counts.labels
    words = Counter(word for each in sentences.sample for word in each.units)
    spaced = sum(count for label, count in labels.items() if label.count(" ") >= LONG_LABEL)
    if spaced > MANY_LABELS * labels.total():
        yield (
            "labelled",
            "the labels are whole texts, as in a file of texts with a label each, and not of words",
            "give the file with --labelled",
        )
    if len(labels) > max(20, MANY_LABELS * labels.total()):
        yield (
            "labels",
            f"{len(labels):,} labels for {labels.total():,} words, so hardly any occurs twice",
            "set data.label to the number of the labels' column",
        )
    if len(labels) > MORE_LABELS * max(4, len(words)):
        yield (
            "swapped",
            f"words and labels seem swapped: {len(words):,} words have {len(labels):,} labels",
            "set data.text and data.label to the numbers of their columns",
        )
    numbers = sum(count for word, count in words.items() if DIGITS.fullmatch(word))
    if sentences.judged and numbers > NUMBERS_WRONG * words.total():
        yield (
            "numbers",
            f"{share(numbers, words.total())} words are only numbers or ids",
            "set data.text to the number of the words' column",
        )
