"""Starting a run, starting it again, and what it tells."""

import json
import math
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
import torch

from regard.errors import DataError, RunError
from regard.evaluate.validation import Validation
from regard.recipe import Recipe
from regard.run import Run
from regard.training.events import Event, Finished, Note, Resumed, Saved, StepReport
from regard.training.run import train, training_run
from regard.weights import load_checkpoint

Tiny = Callable[..., Recipe]
LogOf = Callable[[Path, str], list[dict[str, Any]]]
Kind = TypeVar("Kind")


def first(kind: type[Kind], events: Iterable[Event]) -> Kind:
    return next(event for event in events if isinstance(event, kind))


def all_of(kind: type[Kind], events: Iterable[Event]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        ("seed=4", "seed"),
        ("train.learning_rate=0.02", "train.learning_rate"),
        ("train.accumulate=3", "train.accumulate"),
        ("model.dropout=0.1", "model.dropout"),
        ("model.d_ff=64", "model.d_ff"),
        ("tokenizer.vocabulary_size=400", "tokenizer.vocabulary_size"),
        ("train.moving_average=0.9", "train.moving_average"),
        ("decode.beam_size=2", "decode.beam_size"),
    ],
)
def test_another_experiment_in_the_same_folder_is_refused(
    tiny: Tiny, finished: Path, setting: str, key: str
) -> None:
    before = (finished / "recipe.toml").read_bytes()
    with pytest.raises(RunError) as raised:
        train(tiny(setting), finished)
    assert f" {key} = " in str(raised.value)
    assert str(finished) in str(raised.value)
    assert (finished / "recipe.toml").read_bytes() == before


def test_other_data_in_the_same_folder_is_said_in_words(tiny: Tiny, finished: Path) -> None:
    with pytest.raises(RunError) as raised:
        train(tiny('data.train=["valid.xx", "valid.yy"]'), finished)
    before, _, here = str(raised.value).partition(", and here the data is ")
    assert "holds another run, which learned from " in before
    assert before.endswith("train.yy")
    assert here.endswith("valid.yy; choose another --out")


def test_a_finished_run_says_so_and_does_nothing(tiny: Tiny, finished: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    for recipe in (tiny(), tiny("train.steps=10")):
        events = list(training_run(recipe, finished))
        assert len(events) == 1
        assert isinstance(events[0], Note)
        assert "is finished (step 24)" in events[0].text
        assert "train.steps" in events[0].text
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before


def test_more_steps_go_on_from_the_end(tiny: Tiny, copy: Path) -> None:
    events = list(training_run(tiny("train.steps=30"), copy))
    assert first(Resumed, events) == Resumed(24)
    assert [report.step for report in all_of(StepReport, events)] == list(range(25, 31))
    assert first(Finished, events).step == 30
    run = Run(copy)
    assert run.recipe().train.steps == 30
    before, after = (load_checkpoint(run, run.checkpoint_path(step))[0] for step in (24, 30))
    assert not any(torch.equal(before[name], after[name]) for name in before)


def test_fewer_steps_than_are_done_end_the_run(tiny: Tiny, tmp_path: Path) -> None:
    """Before the first validation there is no best; what is there is judged and kept."""
    with closing(training_run(tiny("train.eval_every=20"), tmp_path)) as events:
        first(Saved, events)
    events = list(training_run(tiny("train.eval_every=20", "train.steps=4"), tmp_path))
    assert first(Finished, events).step == 6
    assert first(Validation, events).step == 6
    assert Run(tmp_path).model_path.exists()


def test_a_finished_run_without_checkpoints_is_not_begun_anew(tiny: Tiny, copy: Path) -> None:
    for path in Run(copy).checkpoints():
        path.unlink()
    kept = Run(copy).model_path.read_bytes()
    with pytest.raises(RunError, match="without checkpoints"):
        train(tiny("train.steps=30"), copy)
    assert Run(copy).model_path.read_bytes() == kept


def test_a_file_where_the_folder_should_be(tiny: Tiny, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("not a folder")
    with pytest.raises(RunError, match="is not a folder"):
        train(tiny(), tmp_path / "run")


def test_a_start_that_fails_leaves_the_folder_as_it_was(tiny: Tiny, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DataError):
        train(tiny('data.train=["nowhere.xx", "nowhere.yy"]'), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(DataError):
        train(tiny('data.train=["nowhere.xx", "nowhere.yy"]'), tmp_path / "a" / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_too_little_space_is_refused(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(total=10**9, used=10**9 - 1000, free=100_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(RunError, match="MB free on this disk") as raised:
        train(tiny(), tmp_path)
    assert str(tmp_path) in str(raised.value)
    assert not Run(tmp_path).checkpoints()


@pytest.mark.parametrize("missing", [1, 1000, 10**6, 10**9])
def test_the_space_that_is_missing_can_be_read(
    missing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = 5 * 10**9
    usage = SimpleNamespace(total=10**12, used=0, free=needed - missing)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(RunError) as raised:
        Run(tmp_path).require_space(needed)
    free, wanted = re.findall(r"([\d.]+) MB", str(raised.value))
    assert float(free) < float(wanted)


def test_the_log_is_made_of_json_lines(finished: Path, log_of: LogOf) -> None:
    steps, validations = log_of(finished, "step"), log_of(finished, "validation")
    assert [entry["step"] for entry in steps] == list(range(1, 25))
    assert [entry["step"] for entry in validations] == [5, 10, 15, 20, 24]
    assert len(log_of(finished, "average")) == 1
    for entry in steps:
        assert entry["loss"] > 0
        assert entry["tokens"] > 0
        assert 0 < entry["learning_rate"] <= 0.01
    for entry in validations:
        assert entry["perplexity"] == pytest.approx(math.exp(entry["loss"]))
        assert len(entry["samples"]) == 3
    assert steps[-1]["loss"] < steps[0]["loss"]


def test_a_log_that_cannot_be_written_is_a_sentence(tiny: Tiny, tmp_path: Path) -> None:
    with closing(training_run(tiny(), tmp_path)) as events:
        first(Saved, events)
        (tmp_path / "log.jsonl").unlink()
        (tmp_path / "log.jsonl").mkdir()
        with pytest.raises(RunError, match=r"log\.jsonl: cannot be written"):
            list(events)


def test_the_card_and_the_facts_agree(tiny: Tiny, finished: Path, log_of: LogOf) -> None:
    info = json.loads((finished / "run.json").read_text("utf-8"))
    card = (finished / "README.md").read_text("utf-8")
    assert info["languages"] == ["xx", "yy"]
    assert "xx → yy" in card
    assert f"{info['parameters']:,} parameters" in card
    assert f"perplexity {info['validation']['perplexity']:.2f}" in card
    assert info["tokens"] == sum(entry["tokens"] for entry in log_of(finished, "step"))
    # The folder repeats the run.
    assert Run(finished).recipe() == tiny()


def test_tensorboard_has_the_scalars(tiny: Tiny, tmp_path: Path, log_of: LogOf) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    recipe = tiny("train.tensorboard=true", "train.steps=12", "train.eval_sentences=0")
    with closing(training_run(recipe, tmp_path)) as events:
        for event in events:
            if isinstance(event, StepReport) and event.step == 9:
                break
    train(recipe, tmp_path)
    board = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    board.Reload()
    shown = {event.step: event.value for event in board.Scalars("step/loss")}
    logged = {entry["step"]: entry["loss"] for entry in log_of(tmp_path, "step")}
    assert shown == pytest.approx(logged, rel=1e-6)
    # Steps 7 to 9 happened twice and are shown once.
    assert len(board.Scalars("step/loss")) == 12
    assert [event.step for event in board.Scalars("validation/perplexity")] == [5, 10, 12]
