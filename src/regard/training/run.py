"""The composition root: a recipe and a folder in, a trained run out, telling what happens."""

import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from regard import machine, objectives
from regard.checkpoint import Run
from regard.data.batch import Batch
from regard.data.batches import Batches
from regard.errors import RunError
from regard.evaluate.validation import ValidationSet
from regard.models import build
from regard.objectives import Loss
from regard.recipe import Recipe
from regard.training import prepare
from regard.training.estimate import estimate
from regard.training.events import DataReady, Event, Interrupted, Note, Resumed, Saved
from regard.training.finish import finish
from regard.training.judge import Judge
from regard.training.log import Log
from regard.training.loop import StepReport, TrainingData, derived_seed, training_steps
from regard.training.prepare import Prepared
from regard.training.state import TrainingState

# Settings that a started run may be given anew: they do not change what an update does.
CHANGEABLE = {
    f"train.{name}"
    for name in (
        *("steps", "eval_every", "eval_sentences", "save_every", "log_every", "tensorboard"),
        *("keep", "average", "metric", "patience", "max_skipped"),
        *("device", "precision", "threads"),
    )
} | {"data.folder"}


def train(recipe: Recipe, out: Path | str) -> Run:
    """Train to the end, or go on with what is in the folder already."""
    for _ in training_run(recipe, Path(out)):
        pass
    return Run.open(out)


def training_run(recipe: Recipe, out: Path) -> Iterator[Event]:
    """Train a recipe into a folder. Ctrl-C and SIGTERM save at the next update and end the run.

    Closing the iterator saves nothing: the last checkpoint is where the next start goes on.
    """
    run = Run(out)
    recipe = settle(run, recipe)
    run.sweep()
    if sentence := finished(run, recipe):
        yield Note(sentence)
        return
    run.save_recipe(recipe)
    machine.keep_big_buffers()
    torch.set_num_threads(recipe.train.threads or machine.usable_cores())
    prepared = yield from prepare_data(run, recipe)
    with stopping() as stop:
        yield from train_prepared(run, recipe, prepared, stop)


def finished(run: Run, recipe: Recipe) -> str:
    """Why there is nothing left to do, if so."""
    info, train = run.info(), recipe.train
    step, stale = info.get("step", 0), info.get("stale_validations", 0)
    if step >= train.steps:
        way = "raise train.steps to go on"
    elif info.get("stopped_early") and 0 < train.patience <= stale:
        way = f"it stopped early after {stale} validations in vain, raise train.patience to go on"
    else:
        return ""
    return f"{run.folder} is finished (step {step:,}); {way}, or choose another --out to begin anew"


def settle(run: Run, recipe: Recipe) -> Recipe:
    """A new folder, or one with a started run of the same experiment."""
    recipe = recipe.model_copy(
        update={
            "data": recipe.data.model_copy(
                update={"folder": str(Path(recipe.data.folder).resolve())}
            )
        }
    )
    try:
        run.training.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(
            f"{run.folder}: cannot be made ({error.strerror}); choose another --out"
        ) from None
    if run.recipe_path.exists():
        old, new = flat(run.recipe()), flat(recipe)
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key) and key not in CHANGEABLE:
                raise RunError(
                    f"{run.folder}: holds a run with {key} = {old.get(key)}, here it is "
                    f"{new.get(key)}; choose another --out, or the same settings to go on"
                )
    elif run.model_path.exists():
        raise RunError(f"{run.folder}: has weights but no recipe.toml; choose another --out")
    return recipe


def flat(recipe: Recipe) -> dict[str, Any]:
    """Settings by dotted name."""
    result: dict[str, Any] = {}
    for key, value in recipe.model_dump(mode="json").items():
        inner = value if isinstance(value, dict) else {"": value}
        result.update({f"{key}.{name}".rstrip("."): each for name, each in inner.items()})
    return result


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C or SIGTERM into a polite request; a second one acts at once."""
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


def prepare_data(run: Run, recipe: Recipe) -> Generator[Event, None, Prepared]:
    """Tokenizers and ids, made by this start or by an earlier one."""
    tokenizers = run.tokenizers() if run.has_tokenizers() else None
    prepared = prepare.load_prepared(run, tokenizers) if tokenizers else None
    reports = None
    if prepared is None:
        yield Note("Reading the pairs …")
        pairs = prepare.survey(prepare.corpus(recipe.data)).pairs
        split = prepare.Split.of(recipe, pairs)
        if tokenizers is None:
            yield Note(f"Learning the vocabulary from {pairs:,} pairs …")
            tokenizers = prepare.learn_tokenizers(recipe, split)
            run.save_tokenizers(tokenizers)
        yield Note("Encoding the pairs …")
        reports = prepare.encode_pairs(run, recipe, split, tokenizers)
        prepared = prepare.load_prepared(run, tokenizers)
        if prepared is None:
            raise RunError(
                f"{run.training / 'data'}: the encoded pairs vanished while training began"
            )
    train = prepared.train
    batches = Batches(
        train.source_lengths, train.target_lengths, recipe.train.batch_tokens, recipe.seed
    )
    yield DataReady(
        train_pairs=len(train),
        valid_pairs=len(prepared.valid),
        padding=batches.padding(),
        train_report=reports[1] if reports else None,
        valid_report=reports[0] if reports else None,
    )
    return prepared


def train_prepared(
    run: Run, recipe: Recipe, prepared: Prepared, stop: Callable[[], bool]
) -> Iterator[Event]:
    """From encoded pairs to the end of training, or to a polite stop."""
    device = machine.choose_device(recipe.train.device)
    torch.manual_seed(derived_seed(recipe.seed))
    model = build(recipe.model, *map(len, prepared.tokenizers)).to(device).train()
    state = TrainingState(model, recipe.train)
    damaged = state.restore(run)
    if state.step == 0 and run.info():
        raise RunError(f"{run.folder}: finished and without checkpoints; choose another --out")
    dtype = machine.choose_precision(recipe.train.precision, device)
    changed = state.go_on_under(conditions(device, dtype))
    yield from (Note(sentence, warning=True) for sentence in (*damaged, *changed))
    objective = objective_for(recipe, device, dtype)
    lengths = prepared.train.source_lengths, prepared.train.target_lengths
    batches = Batches(*lengths, recipe.train.batch_tokens, recipe.seed)
    data = TrainingData(prepared.train, batches)
    if state.step:
        drop_old_checkpoints(run, recipe)  # the process may have died just before
        yield Resumed(state.step)
    else:
        num_bytes = 12 * sum(parameter.numel() for parameter in model.parameters())
        run.require_space(2 * (recipe.train.keep + 1) * num_bytes)
        yield estimate(model, objective, data, recipe.train.steps, recipe.train.accumulate)
    texts = prepared.valid_pairs[: recipe.train.eval_sentences]
    held_out = ValidationSet(prepared.valid, texts, *prepared.tokenizers)
    with Log(run.folder, state.step, recipe.train.tensorboard) as log:
        judge = Judge(run, recipe, state, held_out, log)
        if (yield from update_until_done(judge, data, objective, stop)):
            yield from finish(judge)


def conditions(device: torch.device, dtype: torch.dtype) -> dict[str, str]:
    """What the last bits of a result depend on beside the recipe."""
    return {
        "device": device.type,
        "precision": str(dtype).removeprefix("torch."),
        "threads": str(torch.get_num_threads()),
        "torch": torch.__version__,
    }


def objective_for(
    recipe: Recipe, device: torch.device, dtype: torch.dtype
) -> Callable[[Any, Batch], Loss]:
    """The recipe's objective, its products in the precision the device is good at."""
    smoothing = recipe.train.label_smoothing

    def plain(model: Any, batch: Batch) -> Loss:
        return objectives.translation(model, batch, smoothing)

    def mixed(model: Any, batch: Batch) -> Loss:
        with torch.autocast(device.type, dtype=dtype):
            return objectives.translation(model, batch, smoothing)

    # Even a disabled autocast costs a narrow model a tenth of its speed.
    return plain if dtype == torch.float32 else mixed


def update_until_done(
    judge: Judge,
    data: TrainingData,
    objective: Callable[[Any, Batch], Loss],
    stop: Callable[[], bool],
) -> Generator[Event, None, bool]:
    """Updates with their logging, validation and saving; False when asked to stop early."""
    run, recipe, state, log = judge.run, judge.recipe, judge.state, judge.log
    train, progress = recipe.train, state.progress
    steps = training_steps(
        state.model, state.optimizer, objective, data, train, recipe.seed, progress.position
    )
    while not done(state, recipe):
        if stop():
            if state.step and not run.checkpoint_path(state.step).exists():
                yield save(run, recipe, state)
            yield Interrupted(state.step)
            return False
        report = next(steps)
        note_step(report, state)
        if report.skipped or report.step % train.log_every == 0 or report.step == 1:
            log.write("step", report.step, logged(report))
        yield report
        if progress.skipped_in_a_row >= train.max_skipped:
            raise RunError(
                f"{progress.skipped_in_a_row} updates in a row had a loss or gradient that is not "
                f"finite (step {report.step}); lower train.learning_rate, lengthen "
                "train.warmup_steps or set train.clip_norm, and start again in another folder"
            )
        if report.step % train.eval_every == 0 or report.step == train.steps:
            yield judge.judge()
        if report.step % train.save_every == 0 or done(state, recipe):
            yield save(run, recipe, state)
    return True


def done(state: TrainingState, recipe: Recipe) -> bool:
    patience = recipe.train.patience
    return state.step >= recipe.train.steps or 0 < patience <= state.progress.stale


def note_step(report: StepReport, state: TrainingState) -> None:
    """Count an update and follow it with the average."""
    progress = state.progress
    progress.position = report.position
    progress.tokens += report.tokens
    progress.seconds += report.seconds
    progress.skipped += report.skipped
    progress.skipped_in_a_row = progress.skipped_in_a_row + 1 if report.skipped else 0
    if state.average is not None and not report.skipped:
        state.average.update(state.model, report.step)


def save(run: Run, recipe: Recipe, state: TrainingState) -> Saved:
    state.save(run)
    drop_old_checkpoints(run, recipe)
    return Saved(state.step, run.checkpoint_path(state.step))


def drop_old_checkpoints(run: Run, recipe: Recipe) -> None:
    """Keep the newest; what an interruption saved between two regular ones goes first."""
    paths = run.checkpoints()
    regular = [p for p in paths if int(p.stem.partition("-")[2]) % recipe.train.save_every == 0]
    kept = {*regular[-recipe.train.keep :], paths[-1]}
    for path in paths:
        if path not in kept:
            path.unlink(missing_ok=True)


def logged(report: StepReport) -> dict[str, Any]:
    return {
        "epoch": report.position.epoch,
        "loss": report.loss,
        "learning_rate": report.learning_rate,
        "grad_norm": report.grad_norm,
        "tokens": report.tokens,
        "seconds": round(report.seconds, 4),
        "skipped": report.skipped,
    }
