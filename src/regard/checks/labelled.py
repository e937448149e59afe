"""Checks of texts with a label each."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from regard.checks.characters import Cells, broken_characters, is_header, quotes
from regard.checks.label_sample import LabelCounts, LabelledTexts, shown
from regard.checks.report import (
    EXAMPLES,
    Example,
    Fact,
    Finding,
    Report,
    few,
    name_of,
    share,
    spread,
    unreadable,
)
from regard.checks.sides import other_languages
from regard.data.labelled import Labelled
from regard.errors import DataError

DUPLICATES_ODD, CONFLICTS_ODD = 0.1, 0.02
# A label with fewer examples than this is hardly learned.
RARE = 10
# A label is seldom longer than this, in words, and has several examples.
LONG_LABEL, MANY_LABELS = 4, 0.3
ONE_LABEL = 0.95
SAMPLES = 5
SHOWN_LABELS = 12
LONGEST_SHOWN = 120


Read = Callable[[], Iterator[Labelled]]
Judge = Callable[[LabelledTexts], Iterator[Finding]]


def check_labelled(
    files: Sequence[object], read: Read, read_valid: Read | None = None, max_length: int = 256
) -> Report:
    """Look at texts with a label each, and at those for validation if there are any."""
    return look("labelled", files, read, read_valid, findings_of)


def look(
    kind: str, files: Sequence[object], read: Read, read_valid: Read | None, judge: Judge
) -> Report:
    named = tuple(map(str, files))
    try:
        found = LabelledTexts(LabelCounts.of(read()), name_of(named))
        if not found.counts.total:
            raise DataError(f"{named[0]}: no examples; give a file that has some")
        valid = LabelledTexts(LabelCounts.of(read_valid()), "validation") if read_valid else None
    except DataError as error:
        return unreadable(kind, named, error)
    findings = [*few(found.counts.total, "examples"), *judge(found), *common_findings(found)]
    if valid is not None and valid.counts.total:
        findings += [each for each in judge(valid) if each.severity == "error"]
        findings += in_validation(found, valid)
    return Report(kind, named, tuple(facts_of(found)), tuple(findings), samples_of(found))


def findings_of(texts: LabelledTexts) -> Iterator[Finding]:
    first = texts.sample[0]
    if is_header((first.labels[0], first.units[0])):
        yield Finding(
            "header",
            "warning",
            f"{first.place}: the first line seems to name the columns, and would be learned as an "
            "example",
            'remove the line, or name the columns "label" and "text"',
            (shown(first),),
        )
    yield from wrong_columns(texts)
    cells = Cells()
    for each in texts.sample:
        cells.add(each.units[0], each.place)
    yield from quotes(cells, texts.name)


def wrong_columns(texts: LabelledTexts) -> Iterator[Finding]:
    """Labels that are texts, ids or words: the file has other columns, or is of another kind."""
    counts, sample = texts.counts, texts.sample
    if not texts.judged:
        return
    total, labels = len(sample), {each.labels[0] for each in sample}
    texts_found = {each.units[0] for each in sample}
    many = len(labels) > MANY_LABELS * total
    spaced = [
        sum(" " in text.strip() for text in column)
        for column in ([each.labels[0] for each in sample], [each.units[0] for each in sample])
    ]
    examples = tuple(map(shown, sample[:EXAMPLES]))
    number = f"{len(counts.labels):,} different labels for {counts.total:,} texts"
    if many and max(spaced) < 0.05 * total and len(texts_found) < MANY_LABELS * total:
        yield Finding(
            "tagged",
            "error",
            f"{texts.name}: {number}, and each text is one word: these are words with a label each",
            "give the file with --tagged",
            examples,
        )
    elif many and len(texts_found) <= MANY_LABELS * total:
        yield Finding(
            "swapped",
            "error",
            f"{texts.name}: label and text seem to be swapped: {number}, and "
            f"{len(texts_found):,} different texts",
            "set data.label to the number of the labels' column, or write label, tab, text",
            examples,
        )
    elif many and spaced[0] > 0.5 * total:
        yield Finding(
            "pairs",
            "error",
            f"{texts.name}: {number}: both columns hold sentences",
            "give translations with --pairs; a classifier needs a column of few labels",
            examples,
        )
    elif many:
        yield Finding(
            "labels",
            "error",
            f"{texts.name}: {number}, so hardly any label occurs twice",
            "set data.label to the name or number of the labels' column",
            examples,
        )


def common_findings(texts: LabelledTexts) -> Iterator[Finding]:
    """What texts with a label and sentences with labels have in common."""
    counts = texts.counts
    yield from label_findings(counts.labels, counts.total, texts.name)
    yield from broken_characters(
        ((" ".join(each.units), each.place) for each in texts.sample), texts.name
    )
    yield from other_languages(texts.languages, texts.name)
    if counts.empty:
        yield Finding(
            "empty",
            "warning",
            f"{texts.name}: {share(counts.empty, counts.total)} texts are empty",
            "remove them",
            tuple(shown(e) for e in texts.sample if not any(map(str.strip, e.units)))[:EXAMPLES],
        )
    if counts.duplicates:
        odd = counts.duplicates > DUPLICATES_ODD * counts.total
        yield Finding(
            "duplicates",
            "warning" if odd else "note",
            f"{share(counts.duplicates, counts.total)} examples occur earlier in the data",
            "keep one of each, unless they should count more" if odd else "",
            tuple(counts.first_duplicates),
        )
    if counts.conflicts:
        odd = counts.conflicts > CONFLICTS_ODD * counts.total
        yield Finding(
            "conflicts",
            "warning" if odd else "note",
            f"{share(counts.conflicts, counts.total)} texts occur earlier with another label",
            "decide on one label for each" if odd else "",
            tuple(counts.first_conflicts),
        )


def label_findings(labels: Counter[str], examples: int, name: str) -> Iterator[Finding]:
    """What is odd about how often each label occurs."""
    total, ranked = labels.total(), labels.most_common()
    if len(ranked) == 1:
        yield Finding(
            "one-label",
            "error",
            f"{name}: the only label is {ranked[0][0]!r}, and a model learns to tell labels apart",
            "set data.label to the labels' column, or add examples of another label",
        )
        return
    if ranked[0][1] > ONE_LABEL * total and total == examples:
        yield Finding(
            "one-sided",
            "warning",
            f"{name}: {share(ranked[0][1], total)} labels are {ranked[0][0]!r}",
            "a model that always says so is right as often; add examples of the others",
        )
    yield from case_findings(labels, name)
    rare = [label for label, count in ranked if count < RARE]
    if rare and len(rare) < MANY_LABELS * total:
        few = ", ".join(f"{label} ({labels[label]})" for label in rare[-EXAMPLES:])
        yield Finding(
            "rare-labels",
            "note",
            f"{name}: {len(rare):,} of {len(ranked):,} labels have fewer than {RARE} examples: "
            f"{few}{', …' * (len(rare) > EXAMPLES)}",
        )


def case_findings(labels: Counter[str], name: str) -> Iterator[Finding]:
    """Labels that are the same but for their case; single letters may well mean two things."""
    alike: dict[str, list[str]] = {}
    for label in labels:
        if len(label) > 1:
            alike.setdefault(unicodedata.normalize("NFC", label).casefold(), []).append(label)
    groups = [sorted(each) for each in alike.values() if len(each) > 1]
    if groups:
        words = "; ".join(
            " and ".join(f"{label} ({labels[label]:,})" for label in each)
            for each in groups[:EXAMPLES]
        )
        yield Finding(
            "label-case",
            "warning",
            f"{name}: labels that differ in case only count as different ones: {words}"
            f"{', …' * (len(groups) > EXAMPLES)}",
            "write each label in one way, unless they mean different things",
        )


def in_validation(train: LabelledTexts, valid: LabelledTexts) -> Iterator[Finding]:
    sample = valid.sample
    same = [each for each in sample if hash(each.units) in train.counts.seen]
    if len(same) > max(EXAMPLES, 0.05 * len(sample)):
        yield Finding(
            "overlap",
            "warning",
            f"{share(len(same), len(sample))} validation examples are also in the training data, "
            "so validation says too much",
            "validate on examples that are not learned",
            tuple(map(shown, same[:EXAMPLES])),
        )
    unknown = sorted(valid.counts.labels.keys() - train.counts.labels.keys())
    if unknown:
        names = ", ".join(unknown[:EXAMPLES]) + ", …" * (len(unknown) > EXAMPLES)
        yield Finding(
            "unknown-labels",
            "warning",
            f"validation has {len(unknown):,} labels that the training data has not: {names}",
            "check that both files have the same labels",
        )


def facts_of(texts: LabelledTexts) -> Iterator[Fact]:
    counts, sample = texts.counts, texts.sample
    more = "at least " if counts.more else ""
    whole = len(sample) == counts.total
    closely = "" if whole else f"; {len(sample):,} of them, evenly spread, were looked at closely"
    yield Fact("examples", f"{more}{counts.total:,}{closely}", counts.total)
    yield Fact("sampled", f"{len(sample):,}", len(sample))
    yield Fact("language", str(texts.languages), texts.languages.main)
    mean = counts.words / counts.total
    yield Fact("words", f"{mean:.1f} on average", round(mean, 2))
    yield labels_fact(counts.labels)


def labels_fact(labels: Counter[str]) -> Fact:
    ranked, total = labels.most_common(), labels.total()
    named = ", ".join(
        f"{label[:LONGEST_SHOWN]} {100 * count / total:.0f} %"
        for label, count in ranked[:SHOWN_LABELS]
    )
    return Fact(
        "labels",
        f"{len(ranked):,}: {named}{', …' * (len(ranked) > SHOWN_LABELS)}",
        dict(ranked[:1000]),
    )


def samples_of(texts: LabelledTexts) -> tuple[Example, ...]:
    return tuple(map(shown, spread(texts.sample, SAMPLES)))
