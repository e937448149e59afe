"""regard classify: texts or images in, labels out, in the same order."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.cli.lines import FileFlags, Files, batches
from regard.cli.options import AsJson, Device
from regard.errors import DataError

AT_ONCE = 256


def classify(
    run: Path,
    /,
    *texts: str,
    files: Files = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Label texts or images with a classifier.

    A line of output has the label, its probability and the text or the file's name, with tabs
    between them.

    Parameters
    ----------
    run
        A run folder of a classifier.
    texts
        Texts or image files to label; without any, the lines of --input or of standard input, as
        they come.
    as_json
        Print one JSON object per line: text or image, label, and the probability of each label.
    """
    from regard import tasks
    from regard.cli.checks import open_run
    from regard.cli.display import results, say

    opened = open_run(run, "classify")
    files = files or FileFlags()
    files.check(texts)
    column = tasks.entry(opened.task_name()).columns[0].names[0]
    classifier = opened.load(device)
    failed = False
    with files.answers():
        for batch in batches(texts, files, AT_ONCE, column):
            for text, found in answered(classifier, batch):
                if isinstance(found, DataError):
                    say(f"regard: error: {found}")
                    failed = True
                elif as_json:
                    shares = found.probabilities
                    facts = {column: text, "label": found.label, "probabilities": shares}
                    results(json.dumps(facts, ensure_ascii=False))
                else:
                    results(f"{found.label}\t{found.probabilities[found.label]:.3f}\t{text}")
            sys.stdout.flush()
    if failed:
        sys.exit(1)


def answered(classifier: Any, batch: list[str]) -> Iterator[tuple[str, Any]]:
    """Each text or file with its answer, or with what is wrong with it."""
    try:
        yield from zip(batch, classifier.classify(batch), strict=True)
    except DataError as error:
        if len(batch) == 1:
            yield batch[0], error
            return
        for each in batch:
            yield from answered(classifier, [each])
