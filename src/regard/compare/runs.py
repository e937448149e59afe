"""Several translators on the same sentences: open them, translate, compare."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regard.compare import measure
from regard.compare.measure import Comparison, Look
from regard.compare.sentences import TestSet, common_test_set
from regard.errors import RequestError
from regard.reporter import SILENT, Reporter
from regard.run import Run
from regard.tasks.translation.evaluate import timed_translations
from regard.tasks.translation.recipe import recipe_of
from regard.tasks.translation.translator import Translator

# Few at a time, so that the bar moves.
SENTENCES_AT_ONCE = 200
# The length of the sentence to look at, when none is given.
LOOK_WORDS = range(7, 14)


@dataclass(frozen=True)
class Compared:
    """A comparison, and the view of each run on one sentence."""

    comparison: Comparison
    sentence: str
    looks: list[Look]


def compare(
    folders: Sequence[Path | str],
    source: Path | None = None,
    reference: Path | None = None,
    *,
    beam_size: int | None = None,
    bootstrap: int = 1000,
    sentence: str | None = None,
    device: str = "cpu",
    reporter: Reporter = SILENT,
) -> Compared:
    """Compare translators on the same sentences.

    Parameters
    ----------
    folders
        Two run folders or more; the others are compared with the first.
    source, reference
        Files of sentences and their translations. Without them, the runs are compared on sentences
        that all of them held out.
    beam_size
        Hypotheses kept at each step; by default, as each recipe says.
    bootstrap
        Resamples for the intervals and the tests.
    sentence
        A sentence whose alignment by each run is shown; `""` takes one of the test, None none.
    reporter
        Where progress is reported.

    Returns
    -------
    Compared
        The scores of each run with tests of their differences, and the view of each run.

    Raises
    ------
    RequestError
        A run is named twice, or there are no sentences that all of them held out.

    Examples
    --------
    >>> import regard
    >>> found = regard.compare_runs(["runs/a", "runs/b"])  # doctest: +SKIP
    """
    if isinstance(folders, str | os.PathLike):
        raise RequestError(f"{folders}: give several run folders in a list")
    runs = open_runs([Path(folder) for folder in folders])
    test = common_test_set(list(runs.values()), source, reference)
    shown = sentence_to_look_at(test) if sentence == "" else sentence
    return compare_on(runs, test, shown, beam_size, bootstrap, device, reporter)


def compare_on(
    runs: Mapping[str, Run],
    test: TestSet,
    sentence: str | None,
    beam_size: int | None,
    bootstrap: int,
    device: str,
    reporter: Reporter,
) -> Compared:
    translations, looks = translate_all(runs, test, beam_size, sentence, device, reporter)
    with reporter.progress("scoring", 0):
        comparison = measure.compare(runs, translations, test, bootstrap)
    return Compared(comparison, sentence or "", looks)


def open_runs(folders: Sequence[Path]) -> dict[str, Run]:
    """Translators by the names of their folders, or by their paths where these are alike."""
    seen = set()
    for folder in folders:
        if (place := folder.resolve()) in seen:
            raise RequestError(f"{folder}: named twice; give each run once")
        seen.add(place)
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    runs = {name: Run.open(folder) for name, folder in zip(names, folders, strict=True)}
    for run in runs.values():
        recipe_of(run)
    return runs


def sentence_to_look_at(test: TestSet) -> str:
    """The first of the test that is neither too short to be of interest nor too long to draw."""
    whole = [source for source in test.sources if source.strip()]
    return next((source for source in whole if len(source.split()) in LOOK_WORDS), whole[0])


def translate_all(
    runs: Mapping[str, Run],
    test: TestSet,
    beam_size: int | None,
    sentence: str | None,
    device: str,
    reporter: Reporter,
) -> tuple[dict[str, list[str]], list[Look]]:
    """Each run's translations of the test, and its view of one sentence."""
    translations, looks = {}, []
    for name, run in runs.items():
        translator = Translator.load(run.folder, device, engine="auto")
        if beam_size is not None:
            translator.search = replace(translator.search, beam_size=beam_size)
        translations[name], _ = timed_translations(
            translator, test.sources, reporter, f"translating: {name}", SENTENCES_AT_ONCE
        )
        if sentence:
            [output] = translator.translate([sentence])
            looks.append(Look(name, output, translator.align(sentence, output)))
    return translations, looks
