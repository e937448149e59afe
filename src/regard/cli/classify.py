"""regard classify: texts in, labels out, in the same order."""

import json
import sys
from pathlib import Path

from regard.cli.lines import FileFlags, Files, batches
from regard.cli.options import AsJson, Device

TEXTS_AT_ONCE = 256


def classify(
    run: Path,
    texts: tuple[str, ...] = (),
    /,
    *,
    files: Files = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Label texts with a classifier.

    A line of output has the label, its probability and the text, with tabs between them.

    Parameters
    ----------
    run
        A run folder of a classifier.
    texts
        Texts to label; without any, the lines of --input or of standard input, as they come.
    as_json
        Print one JSON object per line: text, label, and the probability of each label.
    """
    from regard.cli.checks import open_run
    from regard.cli.display import results

    open_run(run, "classify")
    files = files or FileFlags()
    files.check(texts)
    from regard.tasks.classification import Classifier

    classifier = Classifier.load(run, device)
    with files.answers():
        for batch in batches(texts, files, TEXTS_AT_ONCE):
            for text, found in zip(batch, classifier.classify(batch), strict=True):
                if as_json:
                    shares = found.probabilities
                    facts = {"text": text, "label": found.label, "probabilities": shares}
                    results(json.dumps(facts, ensure_ascii=False))
                else:
                    results(f"{found.label}\t{found.probabilities[found.label]:.3f}\t{text}")
            sys.stdout.flush()
