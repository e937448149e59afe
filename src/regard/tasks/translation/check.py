"""Looks at sentence pairs before they are trained on, and before a run is scored on them."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from regard.checks.pair_findings import alignment, copies
from regard.checks.pair_sample import PairCounts, PairLimits, Pairs
from regard.checks.pairs import check_pairs
from regard.checks.report import Report
from regard.checks.sides import swapped
from regard.data.corpus import Pair
from regard.data.pair_files import language_codes
from regard.errors import RegardError, RequestError
from regard.reporter import Reporter
from regard.run import Run
from regard.tasks.checking import with_remarks
from regard.tasks.translation.pairs import corpus, remarks
from regard.tasks.translation.recipe import PairSection
from regard.text.languages import base_code, language_name

# Pairs of the training data that show the languages of a run which does not name them.
LOOKED_AT = 2000


def report(data: PairSection) -> Report | None:
    """What is to be seen on the pairs; a corpus that comes with regard needs no look."""
    if not data.train:
        return None
    limits = PairLimits(data.codes(), data.max_length, data.max_ratio)
    found = check_pairs(
        data.paths("train"),
        lambda: corpus(data),
        limits,
        (lambda: validation(data)) if data.valid else None,
    )
    return with_remarks(found, lambda: remarks(data))


def validation(data: PairSection) -> Iterator[Pair]:
    return chain.from_iterable(each.read() for each in data.corpora("valid"))


def check_test(run: Run, pairs: Sequence[Pair], files: Sequence[Path], reporter: Reporter) -> None:
    """Refuse two files that are swapped, and warn of those in other languages than the run's, or of
    sides that do not fit together.
    """
    known = languages_of_run(run)
    found = Pairs(PairCounts.of(pairs), PairLimits(known), tuple(map(str, files)))
    if known is not None and len(files) == 2:
        names = language_codes(files)
        unclear = any(side.main is None for side in found.languages)
        backwards = names and [base_code(code) for code in (*names[::-1], *known)]
        if swapped(found.languages, known) or (
            unclear and backwards and backwards[:2] == backwards[2:]
        ):
            raise RequestError(
                f"--source {files[0]} and --reference {files[1]} seem to be swapped: {run.folder} "
                f"translates {' → '.join(map(language_name, known))}; give them the other way round"
            )
        for option, text, code, file in zip(
            ("--source", "--reference"), found.languages, known, files, strict=True
        ):
            if text.are_not(code):
                reporter.say(
                    f"warning: {option} {file} is in {language_name(text.main or '')}, and "
                    f"{run.folder} translates {' → '.join(map(language_name, known))}"
                )
    for finding in (*copies(found.counts), *alignment(found)):
        if finding.severity == "error":
            reporter.say(f"warning: {finding}")


def languages_of_run(run: Run) -> tuple[str, str] | None:
    """The languages that a run names, or else those of its training data, if it is still there."""
    if codes := run.info().get("languages"):
        return codes[0], codes[1]
    try:
        pairs = list(islice(corpus(run.recipe_for("translation").data), LOOKED_AT))
    except RegardError:
        return None
    first, second = Pairs(PairCounts.of(pairs), PairLimits()).languages
    return (first.main, second.main) if first.main and second.main else None
