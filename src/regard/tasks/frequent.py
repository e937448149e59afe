"""The most frequent label of each word, which a tagger's results stand beside."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from regard.data.frequent_labels import FrequentLabels, LabelCounter
from regard.data.labelled import Labelled
from regard.run import Run


def path_in(run: Run) -> Path:
    return run.folder / "frequent_labels.json"


def load(run: Run) -> FrequentLabels | None:
    return FrequentLabels.load(path_in(run))


def save(run: Run, counter: LabelCounter, valid: Sequence[Labelled]) -> None:
    """Write the most frequent labels, with their scores on the validation set."""
    found = counter.frequent()
    answers = [found.labels(each.units) for each in valid]
    measured = scores(answers, [each.labels for each in valid])
    replace(found, scores=measured).save(path_in(run))


def scores(found: Sequence[Sequence[str]], true: Sequence[Sequence[str]]) -> dict[str, float]:
    """The accuracy of the most frequent labels, and the F1 of their spans if they have some."""
    from regard.evaluate.labels import accuracy, has_spans, span_f1

    result = {"frequent_labels": accuracy(list(chain(*found)), list(chain(*true)))}
    if has_spans(chain(*true)):
        result["frequent_labels_f1"] = span_f1(found, true)
    return result
