"""regard learn: teach a translator corrections."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from regard.cli.options import AsJson
from regard.errors import UsageError


def learn(
    run: Path,
    /,
    *corrections: Path,
    old: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    may_lose: Annotated[float, Parameter(validator=Number(gte=0))] = 1.0,
    undo: bool = False,
    as_json: AsJson = False,
) -> None:
    """Teach a translator corrections, without letting it forget.

    The corrections are remembered at once. From 50 on, the run also learns from them, together with
    pairs that it was trained on. Sentences that were held out are translated before and after: the
    new weights are kept only if they translate corrections better, and old text about as well.
    Ctrl-C leaves the run as it is, and the same command resumes.

    Parameters
    ----------
    run
        The run folder of a translator.
    corrections
        Pairs as for `regard train --pairs`: .tmx, .tsv, .csv, .xlsx, .jsonl (also of suggestions
        that a server has kept), or two files of plain text.
    old
        Pairs like those that the run was trained on, if these are no longer where they were.
    may_lose
        What the old validation text may lose, in BLEU.
    undo
        Give the run the files that it had before the last teaching, byte for byte.
    as_json
        Print the scores as one JSON object.
    """
    from regard.cli.checks import open_run
    from regard.cli.display import results, say

    if undo == bool(corrections):
        raise UsageError("give either a file of corrections, or --undo")
    opened = open_run(run, "learn")
    from regard.tasks.translation import learn as teaching

    if undo:
        teaching.undo(opened)
        say(f"{run} is as it was before.")
        return
    from regard.cli.training_screen import show_training
    from regard.tasks.translation.teaching import Teaching

    verdicts: list[Any] = []
    given = teaching.read_corrections(opened, corrections)
    events = of_training(teaching.teach(opened, given, old, may_lose), verdicts)
    show_training(events, Teaching(opened).trained.folder)
    for verdict in verdicts:
        results(json.dumps(verdict.facts(), indent=2) if as_json else str(verdict))


def of_training(events: Iterator[Any], verdicts: list[Any]) -> Iterator[Any]:
    """The events of the training; what was remembered is said, and the verdict kept for the end."""
    from regard.cli.display import say
    from regard.tasks.translation.learn import Remembered
    from regard.tasks.translation.verdict import Verdict
    from regard.training.events import Finished

    for event in events:
        match event:
            case Remembered():
                say(str(event))
            case Verdict():
                verdicts.append(event)
            case Finished():
                pass  # that run is not the one that was asked for
            case _:
                yield event
