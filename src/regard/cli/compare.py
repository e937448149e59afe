"""regard compare: several runs on the same sentences."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from regard.cli.options import AsJson, BeamSize, Device, Reference, Source


def compare(
    runs: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)],
    /,
    *,
    source: Source = None,
    reference: Reference = None,
    beam_size: BeamSize = None,
    bootstrap: Annotated[int, Parameter(validator=Number(gte=2))] = 1000,
    picture: Path | None = None,
    html: Path | None = None,
    sentence: str | None = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Compare translators on the same sentences.

    The table has size, speed, scores, which differences are significant, and scores by length. The
    first run is compared with each of the others. Without files, the sentences are what all runs
    held out: the test sentences of the built-in corpus, or the validation pairs.

    Parameters
    ----------
    runs
        Run folders.
    bootstrap
        Resamples for intervals and the paired bootstrap; shuffles are ten times as many.
    picture
        Draw the scores by length to this file: .png, .svg or .pdf.
    html
        Write a page with everything to this file; it needs no other file.
    sentence
        Show the alignments of this sentence on the page; by default, of one of the test.
    as_json
        Print one JSON object with all figures.
    """
    from regard.cli.checks import check_inputs, check_outputs, check_picture, open_run
    from regard.cli.display import SCREEN, results

    check_picture(picture)
    check_outputs(html)
    check_inputs(source, reference)
    for run in runs:
        open_run(run, "compare")
    from regard.compare import measure, table
    from regard.compare import runs as compared
    from regard.compare.figure import save_by_length

    found = compared.compare(
        runs,
        source,
        reference,
        beam_size=beam_size,
        bootstrap=bootstrap,
        sentence=(sentence or "") if html else None,
        device=device,
        reporter=SCREEN,
    )
    comparison = found.comparison
    if picture is not None:
        save_by_length(comparison, picture)
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
