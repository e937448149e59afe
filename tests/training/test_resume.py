"""A run that was stopped or killed ends with the bits of one that was not."""

import json
import multiprocessing
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import objectives
from regard.machine import devices
from regard.recipe import Recipe
from regard.run import Run
from regard.training import updates
from regard.training.events import (
    Event,
    Finished,
    Interrupted,
    Note,
    Phase,
    Resumed,
    Saved,
    StepReport,
)
from regard.training.run import train, training_run
from regard.weights import read_tensors

Outcome = Callable[[Path], dict[str, Any]]
Tiny = Callable[..., Recipe]
Uninterrupted = Callable[..., Path]

# What a checkpoint must carry differs with each of these.
VARIANTS: dict[str, tuple[str, ...]] = {
    "plain": (),
    "moving average": ("train.moving_average=0.9", "train.optimizer=adamw"),
    "no averaging, odd end": ("train.average=1", "train.steps=23", "train.schedule=cosine"),
    # Translations stay wrong for long, so patience ends at step 15, where nothing else is saved.
    "early stop": ("train.metric=bleu", "train.patience=2", "train.steps=200"),
    "two vocabularies": ("tokenizer.joint=false", "model.tied_embeddings=output"),
    "changed pairs": ("data.noise=0.5", "data.placeholders=0.5", "data.terms=0.3"),
}


@pytest.fixture(scope="module")
def uninterrupted(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Uninterrupted:
    """The folder of a run that nothing disturbed, trained once for each variant."""
    folders: dict[tuple[str, ...], Path] = {}

    def find(*settings: str) -> Path:
        if settings not in folders:
            folders[settings] = tmp_path_factory.mktemp("uninterrupted") / "run"
            train(tiny(*settings), folders[settings])
        return folders[settings]

    return find


def close(events: Any) -> list[Event]:
    events.close()
    return []


def send(number: signal.Signals) -> Callable[[Iterator[Event]], list[Event]]:
    def stop(events: Iterator[Event]) -> list[Event]:
        signal.raise_signal(number)
        return list(events)

    return stop


TERMINATE, INTERRUPT = send(signal.SIGTERM), send(signal.SIGINT)


def run_until(
    recipe: Recipe, out: Path, step: int, stop: Callable[[Any], list[Event]]
) -> list[Event]:
    """Train up to a step, stop there; the events after it, or Finished if the run was shorter."""
    with closing(training_run(recipe, out)) as events:
        for event in events:
            if isinstance(event, Finished):
                return [event]
            if isinstance(event, StepReport) and event.step == step:
                return stop(events)
    raise AssertionError(f"step {step} was never reached")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_stopped_run_ends_as_if_it_had_not_been(
    variant: str, tiny: Tiny, uninterrupted: Uninterrupted, outcome: Outcome, tmp_path: Path
) -> None:
    recipe = tiny(*VARIANTS[variant])
    # In mid-epoch, between two saves more than once, at a save, beside it and after a validation.
    stops = (
        *((2, close), (4, TERMINATE), (5, INTERRUPT), (7, INTERRUPT), (8, TERMINATE)),
        *((12, TERMINATE), (13, close), (14, INTERRUPT), (22, TERMINATE)),
    )
    for step, stop in stops:
        if any(isinstance(event, Finished) for event in run_until(recipe, tmp_path, step, stop)):
            break
    train(recipe, tmp_path)
    expected = uninterrupted(*VARIANTS[variant])
    assert outcome(tmp_path) == outcome(expected)
    assert Run(expected).info()["stopped_early"] == (variant == "early stop")


def test_closing_alone_is_enough(
    tiny: Tiny, uninterrupted: Uninterrupted, outcome: Outcome, tmp_path: Path
) -> None:
    for step in (1, 7, 8, 13, 14, 19, 20, 24):
        run_until(tiny(), tmp_path, step, close)
    train(tiny(), tmp_path)
    assert outcome(tmp_path) == outcome(uninterrupted())


def test_bfloat16_resumes_to_the_same_bits(
    tiny: Tiny,
    uninterrupted: Uninterrupted,
    outcome: Outcome,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "bfloat16_runs", lambda: True)
    settings = ("train.precision=bfloat16", "train.steps=12")
    expected = outcome(uninterrupted(*settings))
    assert expected["progress"]["step-00000012.safetensors"]["conditions"]["precision"] == (
        "bfloat16"
    )
    run_until(tiny(*settings), tmp_path, 7, TERMINATE)
    train(tiny(*settings), tmp_path)
    assert outcome(tmp_path) == expected


def test_a_skipped_update_is_resumed_over(
    tiny: Tiny, outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The poisoned batches are the same in both runs: those whose longest source is odd."""
    translation = objectives.translation

    def poisoned(model: Any, batch: Any, label_smoothing: float) -> objectives.Loss:
        loss = translation(model, batch, label_smoothing)
        bad = batch.source.size(1) % 2 == 1
        return objectives.Loss(loss.total * (float("nan") if bad else 1.0), loss.count)

    monkeypatch.setattr(objectives, "translation", poisoned)
    recipe = tiny("train.moving_average=0.5")
    train(recipe, tmp_path / "whole")
    for step in (3, 8, 9, 17):
        run_until(recipe, tmp_path / "parts", step, TERMINATE)
    train(recipe, tmp_path / "parts")
    whole = outcome(tmp_path / "whole")
    assert outcome(tmp_path / "parts") == whole
    skipped = sum(line.get("skipped", False) for line in whole["log"])
    assert 0 < skipped < 24
    assert whole["info"]["skipped_updates"] == skipped


# Writes so slowly that most moments of a run are inside the write of a file.
CHILD = """
import os, time
from safetensors.numpy import save
from regard import files
from regard.training.run import train

def slowly(function):
    def slow(*arguments):
        time.sleep(0.003)
        result = function(*arguments)
        time.sleep(0.003)
        return result
    return slow

def slow_save(tensors, path, metadata):
    data = save(tensors, metadata)
    with open(path, "wb") as file:
        for start in range(0, len(data), 1 + len(data) // 8):
            file.write(data[start : start + 1 + len(data) // 8])
            file.flush()
            time.sleep(0.003)

files.save_file = slow_save
os.fsync, os.replace = slowly(os.fsync), slowly(os.replace)
train(recipe, out)
"""


class Child:
    """A process of its own that trains. It is forked from a server that has loaded torch."""

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["regard.training.run", "torch._dynamo"])

    def __init__(self, recipe: Recipe, out: Path) -> None:
        self.out = out
        arguments = (CHILD, {"recipe": recipe, "out": out})
        self.process = self.context.Process(target=exec, args=arguments)
        self.process.start()

    def kill(self) -> None:
        self.process.kill()
        self.process.join(60)

    def wait_for(self, happened: Callable[[], bool]) -> None:
        while not happened() and self.process.is_alive():
            time.sleep(0.0005)

    def writes_a_checkpoint(self) -> bool:
        """Part of a file is on the disk, and its name is not there yet."""
        return any(path.stat().st_size for path in half_written(self.out))


def half_written(out: Path) -> list[Path]:
    return list((out / "training").glob(".writing-*/step-*"))


def survive(recipe: Recipe, out: Path, kills: int, seed: int) -> int:
    """Kill a run again and again, at last let it end; how many kills were inside a checkpoint."""
    draw = random.Random(seed)
    inside = 0
    for number in range(kills):
        child = Child(recipe, out)
        if number % 3 == 0:
            child.wait_for(child.writes_a_checkpoint)
            time.sleep(draw.uniform(0, 0.01))
        else:
            child.wait_for((out / "recipe.toml").exists)
            time.sleep(draw.uniform(0, 0.7))
        child.kill()
        inside += bool(half_written(out))
    child = Child(recipe, out)
    child.process.join(100)
    assert child.process.exitcode == 0
    return inside


def test_a_killed_run_ends_as_if_it_had_not_been(
    tiny: Tiny, uninterrupted: Uninterrupted, outcome: Outcome, tmp_path: Path
) -> None:
    assert survive(tiny(), tmp_path, kills=6, seed=5) >= 1
    assert outcome(tmp_path) == outcome(uninterrupted())
    assert not list(tmp_path.rglob(".*"))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", ["moving average", "two vocabularies"])
def test_a_run_killed_forty_times_ends_as_if_it_had_not_been(
    variant: str, tiny: Tiny, uninterrupted: Uninterrupted, outcome: Outcome, tmp_path: Path
) -> None:
    settings = (*VARIANTS[variant], "train.steps=120")
    assert survive(tiny(*settings), tmp_path, kills=40, seed=6) >= 10
    assert outcome(tmp_path) == outcome(uninterrupted(*settings))
    assert not list(tmp_path.rglob(".*"))


def test_killed_between_a_save_and_its_tidying(
    tiny: Tiny,
    uninterrupted: Uninterrupted,
    outcome: Outcome,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a stop saved at step 22 must not be averaged because the process died at step 24."""
    run_until(tiny(), tmp_path, 22, TERMINATE)
    with monkeypatch.context() as patch:
        patch.setattr(updates, "drop_old_checkpoints", die_after_saving_24)
        with pytest.raises(KeyboardInterrupt):
            train(tiny(), tmp_path)
    assert Run(tmp_path).checkpoint_path(24).exists()
    train(tiny(), tmp_path)
    assert outcome(tmp_path) == outcome(uninterrupted())


def die_after_saving_24(run: Run, recipe: Recipe) -> None:
    if run.checkpoint_path(24).exists():
        raise KeyboardInterrupt


def test_the_same_seed_gives_the_same_bits_and_another_does_not(
    tiny: Tiny, uninterrupted: Uninterrupted, outcome: Outcome, tmp_path: Path
) -> None:
    train(tiny(), tmp_path / "same")
    train(tiny("seed=4"), tmp_path / "other")
    expected = outcome(uninterrupted())
    assert outcome(tmp_path / "same") == expected
    assert outcome(tmp_path / "other")["model"] != expected["model"]


def identity(path: Path) -> tuple[int, int, int]:
    """Changes when a file is written or replaced, not when it is read."""
    facts = path.stat()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def test_what_stop_says_and_saves(tiny: Tiny, tmp_path: Path) -> None:
    run = Run(tmp_path)
    between = run_until(tiny(), tmp_path, 7, TERMINATE)
    assert between == [Saved(7, run.checkpoint_path(7)), Interrupted(7, signal.SIGTERM)]
    # The regular save of step 12 comes first; then nothing is left to save.
    before = run_until(tiny(), tmp_path, 12, INTERRUPT)
    assert before[-2:] == [Saved(12, run.checkpoint_path(12)), Interrupted(12)]
    assert [path.stem for path in run.checkpoints()] == ["step-00000006", "step-00000012"]
    written = identity(run.checkpoint_path(12))
    with closing(training_run(tiny(), tmp_path)) as events:
        assert next(event for event in events if isinstance(event, Resumed)) == Resumed(12)
        assert INTERRUPT(events)[-1] == Interrupted(12)
    assert identity(run.checkpoint_path(12)) == written


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own answer to Ctrl-C, also where tests are started with that signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_second_signal_acts_at_once(tiny: Tiny, tmp_path: Path) -> None:
    with closing(training_run(tiny(), tmp_path)) as events:
        next(event for event in events if isinstance(event, StepReport))
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_signals_are_left_alone_while_nothing_is_learned(tiny: Tiny, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with closing(training_run(tiny(), tmp_path)) as events:
        assert isinstance(next(events), Phase)
        assert signal.getsignal(signal.SIGTERM) is before
        next(event for event in events if isinstance(event, StepReport))
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_another_number_of_threads_is_told(tiny: Tiny, tmp_path: Path) -> None:
    run_until(tiny(), tmp_path, 3, TERMINATE)
    cores = torch.get_num_threads()
    try:
        with closing(training_run(tiny("train.threads=2"), tmp_path)) as events:
            warnings = [event.text for event in before_training(events) if event.warning]
    finally:
        torch.set_num_threads(cores)
    assert len(warnings) == 1
    assert warnings[0].startswith("threads: 2 now, 1 in the start before;")
    with closing(training_run(tiny(), tmp_path)) as events:
        assert not any(event.warning for event in before_training(events))


def before_training(events: Iterator[Event]) -> Iterator[Note]:
    for event in events:
        if isinstance(event, Resumed):
            return
        if isinstance(event, Note):
            yield event


def test_training_on_does_not_touch_the_checkpoint_it_came_from(tiny: Tiny, tmp_path: Path) -> None:
    """Tensors of a safetensors file are views of the file; they must not be written through."""
    run = Run(tmp_path)
    run_until(tiny("train.moving_average=0.9"), tmp_path, 7, TERMINATE)
    content = run.checkpoint_path(7).read_bytes()
    run_until(tiny("train.moving_average=0.9"), tmp_path, 10, close)
    assert run.checkpoint_path(7).read_bytes() == content
    assert read_tensors(run.checkpoint_path(7))


def test_the_log_is_cut_back_to_the_checkpoint(tiny: Tiny, tmp_path: Path) -> None:
    run_until(tiny(), tmp_path, 11, close)
    log = tmp_path / "log.jsonl"
    assert [json.loads(line)["step"] for line in log.read_bytes().splitlines()][-1] == 11
    with log.open("ab") as file:
        file.write(b'{"event": "step", "st')  # torn by a power cut
    run_until(tiny(), tmp_path, 7, close)
    steps = [json.loads(line)["step"] for line in log.read_bytes().splitlines()]
    assert steps == [1, 2, 3, 4, 5, 5, 6, 7]
