"""A run that was stopped or killed ends with the bits of one that was not."""

import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from regard.recipe import Recipe
from regard.train.events import Event, Finished, Interrupted, Note, Resumed, Saved
from regard.train.loop import StepReport
from regard.train.run import train, training_run

Outcome = Callable[[Path], dict[str, Any]]
Tiny = Callable[..., Recipe]

# What a checkpoint must carry differs with each of these.
VARIANTS: dict[str, tuple[str, ...]] = {
    "plain": (),
    "moving average": ("train.moving_average=0.9", "train.optimizer=adamw"),
    "no averaging, odd end": ("train.average=1", "train.steps=23", "train.schedule=cosine"),
    "early stop": ("train.learning_rate=0.3", "train.patience=2", "train.steps=200"),
    "two vocabularies": ("tokenizer.joint=false", "model.tied_embeddings=output"),
}


@pytest.fixture(scope="module")
def uninterrupted(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The folder of a run that nothing disturbed, trained once for each variant."""
    folders: dict[tuple[str, ...], Path] = {}

    def find(*settings: str) -> Path:
        if settings not in folders:
            folders[settings] = tmp_path_factory.mktemp("uninterrupted") / "run"
            train(tiny(*settings), folders[settings])
        return folders[settings]

    return find


def stop_by_signal(number: int) -> Callable[[Iterator[Event]], None]:
    def stop(events: Iterator[Event]) -> None:
        signal.raise_signal(number)
        rest = list(events)
        assert isinstance(rest[-1], Interrupted)

    return stop


def stop_by_closing(events: Any) -> None:
    events.close()


STOPS = {
    "closed": stop_by_closing,
    "SIGTERM": stop_by_signal(signal.SIGTERM),
    "SIGINT": stop_by_signal(signal.SIGINT),
}


def run_until(recipe: Recipe, out: Path, step: int, stop: Callable[[Any], None]) -> bool:
    """Train up to a step and stop there; True when the run ended before."""
    with closing(training_run(recipe, out)) as events:
        for event in events:
            if isinstance(event, Finished):
                return True
            if isinstance(event, StepReport) and event.step == step:
                stop(events)
                return False
    raise AssertionError("neither finished nor reached the step")


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_stopped_run_ends_as_if_it_had_not_been(
    variant: str,
    stop: str,
    tiny: Tiny,
    uninterrupted: Callable[..., Path],
    outcome: Outcome,
    tmp_path: Path,
) -> None:
    recipe = tiny(*VARIANTS[variant])
    # In mid-epoch, at the end of one, before, at and after a save, twice between two saves.
    for step in (2, 5, 7, 8, 12, 13, 22):
        if run_until(recipe, tmp_path / "run", step, STOPS[stop]):
            break
    train(recipe, tmp_path / "run")
    assert outcome(tmp_path / "run") == outcome(uninterrupted(*VARIANTS[variant]))
