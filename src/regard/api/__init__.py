"""The functions of Python's face: `regard.train`, `regard.load`, `regard.evaluate_run`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import tasks
from regard.errors import RegardError
from regard.run import Run

if TYPE_CHECKING:
    from regard.tasks.task import Evaluation


def load(folder: "Run | Path | str", device: str = "cpu") -> Any:
    """Load what answers with a run.

    Parameters
    ----------
    folder
        A run folder, or a `Run`.
    device
        cpu, cuda, mps, or auto for the best that there is.

    Returns
    -------
    Translator, Writer, Filler, WordVectors, Classifier or Tagger
        By the task of the run; for a task of your own, what it loads.

    Raises
    ------
    RunError
        There is no run in the folder, or it is damaged.

    Examples
    --------
    >>> import regard
    >>> translator = regard.load("runs/demo")
    >>> translator.translate("Jane visite l'Afrique.")
    'Jane visits Africa.'
    """
    run = folder if isinstance(folder, Run) else Run.open(folder)
    return run.load(device)


def evaluate(
    folder: "Run | Path | str",
    files: Sequence[Path | str] | Path | str = (),
    bootstrap: int = 1000,
    backtest: int = 1,
    stride: int = 0,
) -> "Evaluation":
    """Score a run on files that it has not learned from.

    To score examples that Python holds, use the `evaluate` of what `load` gives.

    Parameters
    ----------
    folder
        A run folder, or a `Run`.
    files
        A translator takes two files, sources and references; other runs one or more files of the
        kind they learned from. Without any, a run of the built-in corpus has its own test set.
    bootstrap
        Resamples for the 95 % intervals; 0 leaves them out.
    backtest
        Of a forecaster: how many windows of each series to forecast, the last ones.
    stride
        Of a forecaster: steps from one window to the next; 0 for as many as it forecasts.

    Returns
    -------
    Evaluation
        The scores with their intervals and signatures, and what the run answered.

    Raises
    ------
    DataError
        A file cannot be read, or does not hold what it should.

    Examples
    --------
    >>> import regard
    >>> found = regard.evaluate_run("runs/demo", ["test.fr", "test.en"])
    >>> round(found.score("BLEU"), 2)
    100.0
    """
    from regard.api.asked import in_python
    from regard.tasks.task import Test

    run = folder if isinstance(folder, Run) else Run.open(folder)
    named = [files] if isinstance(files, str | os.PathLike) else files
    test = Test(
        files=tuple(map(Path, named)), bootstrap=bootstrap, backtest=backtest, stride=stride
    )
    try:
        return tasks.get(run.task_name()).evaluate(run, test)
    except RegardError as error:
        error.args = (in_python(str(error)),)
        raise
