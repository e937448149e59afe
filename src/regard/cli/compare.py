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
