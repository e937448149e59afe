"""regard compare: several runs on the same sentences."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.compare.measure import Look
    from regard.compare.sentences import TestSet
    from regard.run import Run

# Few at a time, so that the bar moves.
SENTENCES_AT_ONCE = 200
# Of the sentence to look at, when none is given.
LOOK_WORDS = range(7, 14)


def compare(
    runs: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)],
    /,
    *,
    source: Path | None = None,
    reference: Path | None = None,
    beam_size: int | None = None,
    bootstrap: int = 1000,
    figure: Path | None = None,
    html: Path | None = None,
    sentence: str | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Compare translators: size, speed, scores, which differences are real, score by length.

    Without files, the runs are compared on what all of them held out: the test sentences of the
    built-in corpus, or the validation pairs. The first run is what the others are compared with.

    Parameters
    ----------
    runs
        Run folders.
    source
        Sentences to translate, one a line; may be .gz.
    reference
        Their translations, line by line.
    beam_size
        Hypotheses kept alive; by default as each run's recipe says.
    bootstrap
        Resamples for intervals and for the paired bootstrap; ten times as many shuffles.
    figure
        A file to draw the scores by length to, by its ending: .png, .svg or .pdf.
    html
        A file for a page with everything, which needs no other file.
    sentence
        A sentence whose alignments the page shows; by default one of the test.
    as_json
        One object with all figures.
    """
    from regard.cli.checks import check_picture
    from regard.cli.display import progress_bar, results
    from regard.compare import measure, table
    from regard.compare.figure import save_by_length
    from regard.compare.sentences import common_test_set
    from regard.errors import RequestError

    check_picture(figure)
    if bootstrap < 2:
        raise RequestError(f"--bootstrap {bootstrap}: give at least 2 resamples, 1000 is usual")
    named = open_runs(runs)
    test = common_test_set(list(named.values()), source, reference)
    shown = (sentence or sentence_to_look_at(test)) if html else None
    translations, looks = translate_all(named, test, beam_size, shown)
    with progress_bar("scoring", None):
        comparison = measure.compare(named, translations, test, bootstrap)
    if figure is not None:
        save_by_length(comparison, figure)
    if html is not None:
        from regard.compare.page import page
        from regard.files import write_file

        text = page(
            comparison,
            title=f"Compared: {', '.join(named)}",
            about=(),
            sentence=shown or "",
            looks=looks,
            resamples=bootstrap,
        )
        write_file(html, text.encode())
    if as_json:
        facts = measure.as_json(comparison)
        results(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        results(table.text(comparison, bootstrap))


def open_runs(folders: Sequence[Path]) -> dict[str, "Run"]:
    """Translators by the names of their folders, or by their paths where these are alike."""
    from regard.errors import RequestError
    from regard.run import Run

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
        run.recipe_for("translation")
    return runs


def sentence_to_look_at(test: "TestSet") -> str:
    """The first of the test that is neither too short to be of interest nor too long to draw."""
    whole = [source for source in test.sources if source.strip()]
    return next((source for source in whole if len(source.split()) in LOOK_WORDS), whole[0])


def translate_all(
    runs: Mapping[str, "Run"], test: "TestSet", beam_size: int | None, sentence: str | None
) -> tuple[dict[str, list[str]], list["Look"]]:
    """Each run's translations of the test, and its view of one sentence."""
    from dataclasses import replace

    from regard.cli.evaluate import timed_translations
    from regard.compare.measure import Look
    from regard.tasks.translation.translator import Translator

    translations, looks = {}, []
    for name, run in runs.items():
        translator = Translator.load(run.folder, engine="auto")
        if beam_size is not None:
            translator.search = replace(translator.search, beam_size=beam_size)
        translations[name], _ = timed_translations(
            translator, test.sources, f"translating: {name}", SENTENCES_AT_ONCE
        )
        if sentence:
            [output] = translator.translate([sentence])
            looks.append(Look(name, output, translator.align(sentence, output)))
    return translations, looks
