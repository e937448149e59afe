"""Trains a recipe into a folder and reports events; all parts of training come together here."""

import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn

from regard import tasks
from regard.errors import DataError, RecipeError, RequestError, RunError
from regard.machine import cores, devices, memory
from regard.objectives import Loss
from regard.recipe import Recipe
from regard.run import Run
from regard.training import team
from regard.training.estimate import estimate, measured_peak
from regard.training.events import Event, Note, Resumed
from regard.training.finish import finish
from regard.training.fit import slices_that_fit
from regard.training.initialise import from_run, with_model_of
from regard.training.judge import Judge
from regard.training.log import Log
from regard.training.loop import Objective, TrainingData, derived_seed
from regard.training.parallel import shard
from regard.training.setup import TrainingSetup
from regard.training.state import TrainingState
from regard.training.team import Team
from regard.training.updates import drop_old_checkpoints, update_until_done
from regard.weights import build, unchanged_buffers


def train(recipe: Recipe, out: Path | str) -> Run:
    """Train to the end; a run that is in the folder already is resumed."""
    for _ in training_run(recipe, Path(out)):
        pass
    return Run.open(out)


def training_run(recipe: Recipe, out: Path) -> Iterator[Event]:
    """Train a recipe into a folder. Ctrl-C and SIGTERM save at the next update and end the run.

    Closing the iterator saves nothing: the next start resumes from the last checkpoint. Of the
    processes that a launcher has started, the first reports what happens and the others are silent.
    """
    run = Run(out)
    made = run.missing_folders()
    recipe = prepare_folder(run, with_model_of(recipe, run))
    if sentence := finished(run, recipe):
        yield Note(sentence)
        return
    with run.lock() if team.leads_here() else nullcontext():
        started, before = run.recipe_path.exists(), run.files()
        try:
            if team.leads_here():
                run.sweep()
                run.save_recipe(recipe)
            # Other processes do not know a task that this program has added.
            processes = team.worthwhile(recipe.train) if tasks.entry(recipe.task).module else 1
            with team.assembled(command(run), processes) as members:
                events = train_together(run, recipe, members)
                if members.leads:
                    yield from events
                else:
                    deque(events, maxlen=0)
        except (DataError, RecipeError, RequestError):
            # The next start, with corrected data or settings, prepares everything again.
            if team.leads_here() and not started and not run.checkpoints():
                run.forget(before, made)
            raise


def command(run: Run) -> list[str]:
    """The command that another process runs to take part."""
    return [
        *(sys.executable, "-m", "regard", "train"),
        *(str(run.recipe_path), "--out", str(run.folder)),
    ]


def train_together(run: Run, recipe: Recipe, members: Team) -> Iterator[Event]:
    memory.keep_big_buffers()
    threads = max(1, cores.usable_cores() // members.local_size)
    torch.set_num_threads(recipe.train.threads or threads)
    with members.leader_first():
        setup = yield from tasks.get(recipe.task).setup(run, recipe)
    with stopping() as stop:
        yield from train_prepared(run, recipe, setup, members, stop)


def finished(run: Run, recipe: Recipe) -> str:
    """A sentence that says why nothing is left to do; "" if something is."""
    info, train = run.info(), recipe.train
    step, stale = info.get("step", 0), info.get("stale_validations", 0)
    if step >= train.steps:
        way = "raise train.steps to continue"
    elif info.get("stopped_early") and 0 < train.patience <= stale:
        way = (
            f"it stopped early after {stale} validations without improvement, "
            "raise train.patience to continue"
        )
    else:
        return ""
    return (
        f"{run.folder} is finished (step {step:,}); {way}, or choose another --out to start again"
    )


def prepare_folder(run: Run, recipe: Recipe) -> Recipe:
    """Make the folder, or check that it holds a started run of the same experiment."""
    recipe = recipe.resolved()
    try:
        run.training.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(
            f"{run.folder}: cannot be made ({error.strerror}); choose another --out"
        ) from None
    if run.recipe_path.exists():
        old, new = settings_by_name(run.recipe()), settings_by_name(recipe)
        changeable = recipe.changeable_settings()
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key) and key not in changeable:
                raise RunError(
                    f"{run.folder}: holds a run with {key} = {old.get(key)}, here it is "
                    f"{new.get(key)}; choose another --out, or the same settings to resume it"
                )
    elif run.model_path.exists():
        raise RunError(f"{run.folder}: has weights but no recipe.toml; choose another --out")
    return recipe


def settings_by_name(recipe: Recipe) -> dict[str, Any]:
    """The settings of a recipe by dotted name."""
    result: dict[str, Any] = {}
    for key, value in recipe.model_dump(mode="json").items():
        inner = value if isinstance(value, dict) else {"": value}
        result.update({f"{key}.{name}".rstrip("."): each for name, each in inner.items()})
    return result


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C or SIGTERM requests a stop; a second one acts at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: FrameType | None) -> None:
        asked.set()
        for each, handler in before.items():
            signal.signal(each, handler)

    for number in before:
        signal.signal(number, ask)
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def train_prepared(
    run: Run, recipe: Recipe, setup: TrainingSetup, members: Team, stop: Callable[[], bool]
) -> Iterator[Event]:
    """Train on encoded data to the end, or until a stop is requested."""
    device = devices.choose_device(recipe.train.device)
    if device == torch.device("cuda"):
        device = torch.device("cuda", members.local_rank)
        torch.cuda.set_device(device)
    state, remark = first_state(run, recipe, setup, members, device)
    with members.leader_first():
        damaged = state.restore(run)
    if remark and not state.step:
        yield Note(remark)
    if state.step == 0 and run.info():
        raise RunError(f"{run.folder}: finished and without checkpoints; choose another --out")
    dtype = devices.choose_precision(recipe.train.precision, device)
    objective = in_precision(setup.objective, device, dtype)
    data = TrainingData(setup.examples, setup.batches, members, carried_state=setup.carried)
    with unchanged_buffers(state.model):
        data.slices = slices_that_fit(state.model, objective, data)
    changed = state.resume_under(conditions(device, dtype, data))
    yield from (Note(sentence, warning=True) for sentence in (*damaged, *changed))
    if state.step:
        drop_old_checkpoints(run, recipe)  # the last process may have died before it did
        with unchanged_buffers(state.model):
            peak = measured_peak(state.model, objective, data, dtype)
        yield Resumed(state.step, peak)
    else:
        num_bytes = 12 * sum(parameter.numel() for parameter in state.model.parameters())
        run.require_space(2 * (recipe.train.keep + 1) * num_bytes)
        steps, accumulate = recipe.train.steps, recipe.train.accumulate
        with unchanged_buffers(state.model):
            expected = estimate(state.model, objective, data, steps, accumulate, dtype)
        yield replace(expected, remark=setup.remark)
    if data.carried_state is not None:
        data.carried_state.load(state.carried)  # trial updates have overwritten it
    tensorboard = recipe.train.tensorboard
    log = Log(run.folder, state.step, tensorboard) if members.leads else None
    with log or nullcontext():
        judge = Judge(run, recipe, state, setup, log) if log else None
        if (yield from update_until_done(run, recipe, state, data, objective, judge, stop)):
            last = state.judged_weights()
            if judge:
                yield from finish(judge, last)


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


def in_precision(objective: Objective, device: torch.device, dtype: torch.dtype) -> Objective:
    """The task's objective, with its products in the chosen precision."""

    def mixed(model: Any, batch: Any) -> Loss:
        with torch.autocast(device.type, dtype=dtype):
            return objective(model, batch)

    # Even a disabled autocast costs a narrow model a tenth of its speed.
    return objective if dtype == torch.float32 else mixed
