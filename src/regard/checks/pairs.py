"""Checks of sentence pairs: what they are, what they should be, and what training would drop."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from regard.checks.pair_findings import findings_of
from regard.checks.pair_sample import PairCounts, PairLimits, Pairs, shown
from regard.checks.report import (
    EXAMPLES,
    Example,
    Fact,
    Finding,
    Report,
    few,
    share,
    spread,
    unreadable,
)
from regard.data.corpus import Pair
from regard.errors import DataError
from regard.text.languages import language_name

OVERLAP_ODD = 0.05
SAMPLES = 5


def check_pairs(
    files: Sequence[object],
    read: Callable[[], Iterator[Pair]],
    limits: PairLimits,
    read_valid: Callable[[], Iterator[Pair]] | None = None,
) -> Report:
    """Look at pairs, and at those for validation if there are any."""
    named = tuple(map(str, files))
    try:
        found = Pairs(PairCounts.of(read()), limits, named)
        if not found.counts.total:
            raise DataError(f"{' and '.join(named)}: no pairs; give files with sentences")
        valid = None
        if read_valid is not None:
            valid = Pairs(PairCounts.of(read_valid()), limits)
    except DataError as error:
        return unreadable("pairs", named, error)
    findings = [*few(found.counts.total, "pairs"), *findings_of(found)]
    if valid is not None and valid.counts.total:
        findings += in_validation(findings_of(valid))
        findings += overlap(found, valid)
    return Report("pairs", named, tuple(facts_of(found)), tuple(findings), samples_of(found))


def in_validation(findings: Iterable[Finding]) -> list[Finding]:
    """What is wrong in the validation files; notes on them are too much."""
    return [
        replace(each, sentence=f"validation: {each.sentence}")
        for each in findings
        if each.severity != "note"
    ]


def overlap(train: Pairs, valid: Pairs) -> Iterator[Finding]:
    same = [p for p in valid.sample if hash((p.source, p.target)) in train.counts.seen]
    if len(same) > OVERLAP_ODD * len(valid.sample):
        yield Finding(
            "overlap",
            "warning",
            f"{share(len(same), len(valid.sample))} validation pairs are also in the training "
            "data, so validation says too much",
            "validate on pairs that are not learned",
            tuple(map(shown, same[:EXAMPLES])),
        )


def facts_of(pairs: Pairs) -> Iterator[Fact]:
    counts, sample = pairs.counts, pairs.sample
    more = "at least " if counts.more else ""
    whole = len(sample) == counts.total
    closely = "" if whole else f"; {len(sample):,} of them, evenly spread, were looked at closely"
    yield Fact("pairs", f"{more}{counts.total:,}{closely}", counts.total)
    yield Fact("sampled", f"{len(sample):,}", len(sample))
    found = pairs.languages
    named = pairs.limits.languages
    said = f", named {' → '.join(map(language_name, named))}" if named else ""
    text = f"{found[0]} → {found[1]}" if any(each.passages for each in found) else str(found[0])
    yield Fact("languages", f"{text}{said}", [each.main for each in found])
    words = [
        np.array([len(getattr(pair, side).split()) for pair in sample])
        for side in ("source", "target")
    ]
    yield Fact(
        "words",
        ", ".join(
            f"{each.mean():.1f} a {side} ({each.max():,} at most)"
            for side, each in zip(("source", "target"), words, strict=True)
        ),
        [{"mean": round(float(each.mean()), 2), "most": int(each.max())} for each in words],
    )
    ratio = sum(len(p.target) for p in sample) / max(1, sum(len(p.source) for p in sample))
    fit = pairs.alignment.correlation
    yield Fact("ratio", f"{ratio:.2f} target characters for each of the source", round(ratio, 3))
    if pairs.alignment.lines:
        yield Fact("alignment", f"lengths correlate by {fit:.2f}", round(fit, 3))


def samples_of(pairs: Pairs) -> tuple[Example, ...]:
    return tuple(map(shown, spread([pair for pair in pairs.sample if pair.source], SAMPLES)))
