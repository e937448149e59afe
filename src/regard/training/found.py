"""Ends a training whose model was found directly: validates it, and writes the run."""

from collections.abc import Iterator

from regard.made_with import MadeWith
from regard.recipe import Recipe
from regard.run import Run
from regard.training.events import Event, Position
from regard.training.finish import finish
from regard.training.judge import Judge
from regard.training.log import Log
from regard.training.setup import FoundSetup
from regard.training.state import TrainingState
from regard.training.time_left import TimeLeft
from regard.weights import weights


def keep_found(run: Run, recipe: Recipe, setup: FoundSetup, made_with: MadeWith) -> Iterator[Event]:
    state = TrainingState(setup.model, recipe.train)
    state.made_with = made_with
    state.progress.position = Position(recipe.train.steps)
    state.progress.seconds = setup.seconds
    with Log(run.folder, 0, recipe.train.tensorboard) as log:
        judge = Judge(run, recipe, state, setup, log, TimeLeft(recipe.train, 0.0, 0.0, 0))
        yield from finish(judge, weights(setup.model))
