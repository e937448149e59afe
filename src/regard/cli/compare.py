"""regard compare: several runs on the same sentences."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


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
    """Compare translators on the same sentences.

    The table has size, speed, scores, which differences are significant, and scores by length. The
    first run is compared with each of the others. Without files, the sentences are what all runs
    held out: the test sentences of the built-in corpus, or the validation pairs.

    Parameters
    ----------
    runs
        Run folders.
    source
        Sentences to translate, one per line; .gz works, too.
    reference
        Their translations, line by line.
    beam_size
        Hypotheses kept at each step; by default, as each run's recipe says.
    bootstrap
        Resamples for intervals and the paired bootstrap; shuffles are ten times as many.
    figure
        Draw the scores by length to this file: .png, .svg or .pdf.
    html
        Write a page with everything to this file; it needs no other file.
    sentence
        Show the alignments of this sentence on the page; by default, of one of the test.
    as_json
        Print one JSON object with all figures.
    """
    from regard.cli.checks import check_picture
    from regard.cli.display import SCREEN, results
    from regard.compare import measure, table
    from regard.compare import runs as compared
    from regard.compare.figure import save_by_length
    from regard.errors import RequestError

    check_picture(figure)
    if bootstrap < 2:
        raise RequestError(f"--bootstrap {bootstrap}: give at least 2 resamples, 1000 is usual")
    found = compared.compare(
        runs,
        source,
        reference,
        beam_size=beam_size,
        bootstrap=bootstrap,
        sentence=(sentence or "") if html else None,
        reporter=SCREEN,
    )
    comparison = found.comparison
    if figure is not None:
        save_by_length(comparison, figure)
    if html is not None:
        from regard.compare.page import page
        from regard.files import write_file

        text = page(
            comparison,
            title=f"Compared: {', '.join(run.name for run in comparison.runs)}",
            about=(),
            sentence=found.sentence,
            looks=found.looks,
            resamples=bootstrap,
        )
        write_file(html, text.encode())
    if as_json:
        facts = measure.as_json(comparison)
        results(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        results(table.text(comparison, bootstrap))
