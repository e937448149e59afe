"""regard tag: a label for each word."""

import json
import sys
from pathlib import Path

from regard.cli.lines import FileFlags, Files, batches
from regard.cli.options import AsJson, Device

SENTENCES_AT_ONCE = 256


def tag(
    run: Path,
    /,
    *sentences: str,
    files: Files = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Label the words of sentences with a tagger.

    A sentence is cut into words as the tagger's data is: at spaces, and before a full stop if that
    is a word there. A line of output has a word and its label, and an empty line ends a sentence.

    Parameters
    ----------
    run
        A run folder of a tagger.
    sentences
        Sentences to label; without any, the lines of --input or of standard input, as they come.
    as_json
        Print one JSON object per sentence: words, labels and their probabilities.
    """
    from regard.cli.checks import open_run
    from regard.cli.display import results

    open_run(run, "tag")
    files = files or FileFlags()
    files.check(sentences)
    from regard.tasks.tagging import Tagger

    tagger = Tagger.load(run, device)
    with files.answers():
        for batch in batches(sentences, files, SENTENCES_AT_ONCE):
            for found in tagger.tag(batch):
                if as_json:
                    facts = {
                        "words": [each.word for each in found],
                        "labels": [each.label for each in found],
                        "probabilities": [each.probability for each in found],
                    }
                    results(json.dumps(facts, ensure_ascii=False))
                else:
                    for each in found:
                        results(f"{each.word}\t{each.label}")
                    results("")
            sys.stdout.flush()
