"""Trains on prepared data: brings the model, the optimizer, the loop and the judge together."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import nn

from regard import tasks
from regard.evaluate.validation import expected_seconds
from regard.layers.batch_norm import BatchNorm2d
from regard.machine import cores, devices, memory
from regard.made_with import MadeWith
from regard.planning.plan import training_formula
from regard.recipe import Recipe
from regard.run import Run
from regard.training.checks import checkpoint_bytes
from regard.training.contents import prepared
from regard.training.estimate import estimate, measured_peak
from regard.training.events import Estimate, Event, Note, Phase, Resumed
from regard.training.finish import finish
from regard.training.fit import slices_that_fit
from regard.training.found import keep_found
from regard.training.initialise import from_run
from regard.training.judge import Judge
from regard.training.log import Log, remarks
from regard.training.loop import Objective, TrainingData, derived_seed
from regard.training.parallel import shard
from regard.training.precision import choose, in_precision
from regard.training.setup import FoundSetup, TrainingSetup
from regard.training.state import TrainingState
from regard.training.stopping import stopping
from regard.training.team import Team
from regard.training.time_left import TimeLeft
from regard.training.updates import drop_old_checkpoints, update_until_done
from regard.weights import build, unchanged_buffers


def train_together(run: Run, recipe: Recipe, members: Team) -> Iterator[Event]:
    memory.keep_big_buffers()
    threads = max(1, cores.usable_cores() // members.local_size)
    torch.set_num_threads(recipe.train.threads or threads)
    setup, made_with = yield from prepared(run, recipe, members)
    if isinstance(setup, FoundSetup):
        if members.leads:
            yield from keep_found(run, recipe, setup, made_with)
        return
    yield from train_prepared(run, recipe, setup, made_with, members)


def train_prepared(
    run: Run, recipe: Recipe, setup: TrainingSetup, made_with: MadeWith, members: Team
) -> Iterator[Event]:
    """Train on encoded data to the end, or until a stop is requested. Before the first update there
    is nothing to save, so a signal ends the process at once.
    """
    device = devices.choose_device(recipe.train.device)
    if device == torch.device("cuda"):
        device = torch.device("cuda", members.local_rank)
        torch.cuda.set_device(device)
    yield Phase("Building the model")
    state, remark = first_state(run, recipe, setup, members, device)
    with members.leader_first():
        damaged = [*state.restore(run, made_with), *remarks(run.folder / "log.jsonl")]
    if remark and not state.step:
        yield Note(remark)
    if setup.answers_at_once and not state.step and members.leads:
        yield from judged_at_once(run, recipe, state, setup)
    data = TrainingData(
        setup.examples,
        setup.batches,
        members,
        carried_state=setup.carried,
        compares_rows=setup.compares_rows,
        in_step=normalises_batches(state.model),
    )
    yield Phase("Trying a few batches, to measure memory and time")
    dtype, chosen = fitted(recipe, setup, state, data, device)
    objective = in_precision(setup.objective, device, dtype)
    if chosen:
        yield Note(chosen)
    if data.in_step and data.slices > 1:
        yield Note(
            f"memory is short, so batches are cut into {data.slices} parts, and batch "
            "normalisation sees a part at a time",
            warning=True,
        )
    clock = TimeLeft(recipe.train, 0.0, validation_seconds(state, setup, members), closing(recipe))
    changed = state.resume_under(conditions(device, dtype, data))
    yield from (Note(sentence, warning=True) for sentence in (*damaged, *changed))
    expected = tried(run, recipe, setup, state, data, objective, dtype)
    if isinstance(expected, Estimate):
        clock.update_seconds = expected.seconds / recipe.train.steps
        expected = replace(expected, seconds=clock.seconds(0), remark=setup.remark)
    if data.carried_state is not None:
        data.carried_state.load(state.carried)  # trial updates have overwritten it
    tensorboard = recipe.train.tensorboard
    with stopping() as stop:
        yield expected
        log = Log(run.folder, state.step, tensorboard) if members.leads else None
        with log or nullcontext():
            judge = Judge(run, recipe, state, setup, log, clock) if log else None
            yield Phase("Training")
            if (yield from update_until_done(run, recipe, state, data, objective, judge, stop)):
                last = state.judged_weights()
                if judge:
                    yield from finish(judge, last)


def judged_at_once(
    run: Run, recipe: Recipe, state: TrainingState, setup: TrainingSetup
) -> Iterator[Event]:
    """Validate and keep the model before its first update, so that the run can be used from here
    on, whenever training is stopped.
    """
    yield Phase("Validating")
    with Log(run.folder, 0, tensorboard=False) as log:
        clock = TimeLeft(recipe.train, 0.0, 0.0, 0)
        yield Judge(run, recipe, state, setup, log, clock).judge(state.judged_weights())


def fitted(
    recipe: Recipe,
    setup: TrainingSetup,
    state: TrainingState,
    data: TrainingData,
    device: torch.device,
) -> tuple[torch.dtype, str]:
    """Cut batches into slices where memory is short, and choose the type to train in, with a remark
    or "". On a CPU slices are measured in float32, since the type is chosen by whole updates.
    """
    objective, train = setup.objective, recipe.train
    if device.type != "cpu":
        known = devices.choose_precision(train.precision, device)
        objective = in_precision(objective, device, known)
    with unchanged_buffers(state.model):
        data.slices = slices_that_fit(state.model, objective, data)
        return choose(train, state.model, setup.objective, data, state.precision_so_far)


def tried(
    run: Run,
    recipe: Recipe,
    setup: TrainingSetup,
    state: TrainingState,
    data: TrainingData,
    objective: Objective,
    dtype: torch.dtype,
) -> Resumed | Estimate:
    """What a few updates show, which change nothing."""
    formula = training_formula(recipe, setup.sizes)
    if state.step:
        drop_old_checkpoints(run, recipe)  # the last process may have died before it did
        with unchanged_buffers(state.model):
            peak = measured_peak(state.model, objective, data, dtype, formula)
        return Resumed(state.step, peak)
    parameters = sum(parameter.numel() for parameter in state.model.parameters())
    run.require_space(checkpoint_bytes(recipe, parameters))
    steps, accumulate = recipe.train.steps, recipe.train.accumulate
    with unchanged_buffers(state.model):
        return estimate(state.model, objective, data, steps, accumulate, dtype, formula)


def normalises_batches(model: nn.Module) -> bool:
    """Whether training needs the statistics of a batch; a frozen encoder does not."""
    return any(isinstance(each, BatchNorm2d) and each.training for each in model.modules())


def validation_seconds(state: TrainingState, setup: TrainingSetup, members: Team) -> float:
    """About how long a validation takes. One process cannot try a model that all of them share."""
    if not members.leads or state.twin is not None:
        return 0.0
    with unchanged_buffers(state.model):
        return expected_seconds(state.model, setup.held_out)


def closing(recipe: Recipe) -> int:
    """How many times a validation's time follows the last one: for the average of checkpoints, and
    for what a task measures.
    """
    measures = tasks.get(recipe.task).after_training is not None
    return (recipe.train.average > 1) + measures


def first_state(
    run: Run, recipe: Recipe, setup: TrainingSetup, members: Team, device: torch.device
) -> tuple[TrainingState, str]:
    """The model before the first update, the same in every process, and a remark on it if any."""

    def model() -> nn.Module:
        return build(recipe, setup.sizes).to(device)

    torch.manual_seed(derived_seed(recipe.seed))
    first = model().train()
    remark = ""
    if not run.checkpoints():
        if recipe.train.from_run:
            remark = from_run(first, recipe.train.from_run)
        elif setup.initialise is not None:
            remark = setup.initialise(first)
    if members.size == 1 or recipe.train.parallel == "ddp":
        return TrainingState(first, recipe.train), remark
    shard(first)
    return TrainingState(first, recipe.train, twin=model), remark


def conditions(device: torch.device, dtype: torch.dtype, data: TrainingData) -> dict[str, str]:
    """The conditions beside the recipe that the last bits of a result depend on."""
    return {
        "device": device.type,
        "precision": str(dtype).removeprefix("torch."),
        "processes": str(data.team.size),
        "pieces of a batch": str(data.slices),
        "threads": str(torch.get_num_threads()),
        "torch": torch.__version__,
    }
