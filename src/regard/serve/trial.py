"""Tries each model once before it answers anyone: what cannot answer must not take over, and the
first answer takes longer than the others.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from regard.errors import DataError, RegardError, RunError
from regard.serve.translation.service import Service

if TYPE_CHECKING:
    from regard.tasks.forecaster import Forecaster

TEXT = "a"


def try_all(service: Service) -> None:
    for pair in service.pairs.pairs:
        trial(pair.run, partial(pair.translator.translate, [TEXT]))
    for answer, name, model in service.models.loaded():
        trial(name, partial(TRIALS[answer], model))


def trial(name: str, ask: Callable[[], Any]) -> None:
    """Ask a model; whatever it raises becomes one sentence about its run."""
    try:
        ask()
    except RegardError:
        raise
    except Exception as error:
        raise RunError(
            f"{name}: the model fails when it is tried ({type(error).__name__}: {error}); "
            "train or copy the run again"
        ) from error


def black() -> Any:
    import numpy as np

    return np.zeros((8, 8, 3), np.uint8)


def write(writer: Any) -> None:
    from regard.tasks.writing import Writing

    writer.generate(TEXT, Writing(max_tokens=1, temperature=0))


def match(matcher: Any) -> None:
    image = matcher.reader.square(black())
    matcher.match([image], [TEXT], ["{}"])


def continue_series(forecaster: "Forecaster") -> None:
    if forecaster.last is not None:
        with suppress(DataError):  # columns known in advance must come with each request
            forecaster.forecast(only=forecaster.last.names[0], samples=1)


# By what a model answers, as in regard.serve.models.
TRIALS: dict[str, Callable[[Any], Any]] = {
    "completions": write,
    "embeddings": lambda embedder: embedder.embed([TEXT]),
    "labels": lambda classifier: classifier.classify([classifier.reader.square(black())]),
    "captions": lambda captioner: captioner.captions([captioner.reader.square(black())]),
    "matches": match,
    "forecasts": continue_series,
}
