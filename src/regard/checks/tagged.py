"""Checks of sentences whose words have labels."""

from collections.abc import Iterator, Sequence

from regard.checks.characters import is_header
from regard.checks.label_sample import LabelledTexts
from regard.checks.labelled import LONG_LABEL, MANY_LABELS, Read, look
from regard.checks.report import EXAMPLES, Example, Finding, Report

# A sentence of more words than this has lost the empty lines around it.
LONGEST_SENTENCE = 1000


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
    labels = counts.labels.total()
    spaced = sum(count for label, count in counts.labels.items() if label.count(" ") >= LONG_LABEL)
    examples = tuple(
        Example(first.place, (word, label))
        for word, label in zip(first.units[:EXAMPLES], first.labels[:EXAMPLES], strict=True)
    )
    longest = max(len(each.units) for each in sentences.sample)
    if spaced > MANY_LABELS * labels:
        yield Finding(
            "labelled",
            "error",
            f"{name}: the labels are whole texts, as in a file of texts with a label each, and not "
            "of words",
            "give the file with --labelled",
            examples,
        )
    elif len(counts.labels) > max(20, MANY_LABELS * labels):
        yield Finding(
            "labels",
            "error",
            f"{name}: {len(counts.labels):,} different labels for {labels:,} words, so hardly any "
            "occurs twice",
            "set data.label to the number of the labels' column",
            examples,
        )
    elif longest > LONGEST_SENTENCE:
        yield Finding(
            "no-sentences",
            "error" if counts.total < EXAMPLES else "warning",
            f"{name}: a sentence of {longest:,} words",
            "put an empty line after each sentence",
            examples,
        )
