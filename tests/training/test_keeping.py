"""Which weights a run keeps, and what it does about checkpoints that are damaged."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch

from regard.errors import RunError
from regard.evaluate.metrics import BLEU, CHRF, LOSS, Metric
from regard.evaluate.validation import Validation
from regard.recipe import Recipe
from regard.run import Run
from regard.training import card, judge
from regard.training.events import Event, Finished, Note, Resumed, StepReport
from regard.training.run import train, training_run
from regard.weights import digest, load_checkpoint, read_tensors, save_checkpoint

Tiny = Callable[..., Recipe]
LogOf = Callable[[Path, str], list[dict[str, Any]]]
Kind = TypeVar("Kind")


def first(kind: type[Kind], events: Iterable[Event]) -> Kind:
    return next(event for event in events if isinstance(event, kind))


def all_of(kind: type[Kind], events: Iterable[Event]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


def told(losses: Iterator[float], average: float) -> Callable[..., Validation]:
    """A stand-in for validation; weights at a step seen before are the average."""
    seen: set[int] = set()

    def validate(model: Any, data: Any, step: int) -> Validation:
        loss = average if step in seen else next(losses)
        seen.add(step)
        return Validation(step, loss, {"bleu": 1.0, "chrf": 1.0})

    return validate


def test_the_last_checkpoints_and_the_best_weights_are_kept(
    tiny: Tiny, tmp_path: Path, log_of: LogOf
) -> None:
    recipe = tiny("train.keep=2", "train.average=1", "train.save_every=4")
    run = train(recipe, tmp_path)
    assert [path.stem for path in run.checkpoints()] == ["step-00000020", "step-00000024"]
    validations = log_of(tmp_path, "validation")
    best = min(validations, key=lambda entry: entry["loss"])
    assert best["best"]
    assert run.info()["validation"]["loss"] == best["loss"]


def test_the_best_is_kept_when_later_weights_are_worse(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "validate", told(iter([5.0, 2.0, 3.0, 4.0]), average=9.0))
    settings = ("train.eval_every=6", "train.steps=24", "train.keep=4", "train.average=4")
    events = list(training_run(tiny(*settings), tmp_path))
    run = Run(tmp_path)
    assert [each.best for each in all_of(Validation, events)] == [True, True, False, False]
    model, metadata = read_tensors(run.model_path)
    assert metadata["step"] == "12"
    checkpoint = load_checkpoint(run, run.checkpoint_path(12))[0]
    assert all(torch.equal(tensor, checkpoint[f"weight/{name}"]) for name, tensor in model.items())


@pytest.mark.parametrize(
    ("settings", "prefix"),
    [
        ((), "weight"),
        (("train.moving_average=0.9",), "average"),
    ],
)
def test_the_average_is_the_mean_of_the_checkpoints(
    tiny: Tiny,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: tuple[str, ...],
    prefix: str,
) -> None:
    monkeypatch.setattr(judge, "validate", told(iter([5.0, 4.0, 3.0, 2.0, 2.0]), average=1.0))
    finished = first(Finished, training_run(tiny("train.average=3", *settings), tmp_path))
    assert finished.averaged == 3
    run = Run(tmp_path)
    parts = [load_checkpoint(run, path)[0] for path in run.checkpoints()[-3:]]
    for name, tensor in read_tensors(run.model_path)[0].items():
        total = sum(part[f"{prefix}/{name}"].double() for part in parts)
        torch.testing.assert_close(tensor.double(), total / 3, rtol=1e-6, atol=1e-7)
        assert not torch.equal(tensor, parts[-1][f"{prefix}/{name}"])


def test_a_run_that_was_averaged_goes_on_from_what_it_kept(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worse weights of later steps must not replace the average, nor be described in its place."""
    losses = iter([3.0, 2.0, 9.0, 9.0, 9.0])  # steps 4 and 8, their average is tried with 1.0
    monkeypatch.setattr(judge, "validate", told(losses, average=1.0))
    settings = ("train.eval_every=4", "train.save_every=4")
    events = list(training_run(tiny("train.steps=8", *settings), tmp_path))
    assert (first(Finished, events).validation.loss, first(Finished, events).averaged) == (1.0, 2)
    kept = Run(tmp_path).model_path.read_bytes()
    monkeypatch.setattr(judge, "validate", told(losses, average=8.0))
    events = list(training_run(tiny("train.steps=16", *settings), tmp_path))
    assert not any(each.best for each in all_of(Validation, events))
    assert Run(tmp_path).model_path.read_bytes() == kept
    assert first(Finished, events).averaged == 2
    assert Run(tmp_path).info()["averaged_checkpoints"] == 2


def test_a_validation_that_is_not_finite_is_beaten_by_any_other() -> None:
    burst = Validation(1, math.nan, {"bleu": 9.0, "chrf": 9.0})
    fine = Validation(2, 5.0, {"bleu": 1.0, "chrf": 1.0})
    for metric in (LOSS, BLEU, CHRF):
        assert judge.better(fine, burst, metric)
        assert not judge.better(burst, fine, LOSS)


def test_where_scores_are_equal_the_loss_decides() -> None:
    early, late = (Validation(step, loss, {"bleu": 0.0}) for step, loss in ((1, 7.0), (2, 6.0)))
    assert judge.better(late, early, BLEU)
    assert not judge.better(early, late, BLEU)
    assert not judge.better(early, early, BLEU)


def test_a_metric_may_be_better_when_it_is_lower() -> None:
    far = Metric("distance", "distance", higher_is_better=False)
    before = Validation(1, 5.0, {"distance": 3.0})
    assert judge.better(Validation(2, 9.0, {"distance": 2.0}), before, far)
    assert not judge.better(Validation(2, 6.0, {"distance": 3.0}), before, far)
    assert judge.better(Validation(2, 1.0, {"distance": 3.0}), before, far)
    assert not judge.better(Validation(2, 1.0, {"distance": 4.0}), before, far)
    # Where it was not measured, the loss decides.
    assert judge.better(Validation(2, 4.0, {"distance": None}), before, far)
    assert not judge.better(Validation(2, 6.0, {}), before, far)
    assert judge.better(Validation(2, 6.0, {"distance": 9.0}), Validation(1, 5.0), far)


@pytest.mark.parametrize(
    ("metric", "scores", "last"),
    [
        ("loss", [(5.0, 1.0), (4.0, 1.0), (4.0, 9.0), (4.5, 9.0), (1.0, 0.0)], 8),
        ("bleu", [(5.0, 1.0), (4.0, 1.0), (4.0, 9.0), (4.5, 8.0), (4.0, 9.0)], 10),
        ("chrf", [(5.0, 1.0), (4.0, 0.5), (3.0, 0.7), (4.5, 8.0), (1.0, 9.0)], 6),
    ],
)
def test_patience_ends_a_run_that_no_longer_improves(
    tiny: Tiny,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    metric: str,
    scores: list[tuple[float, float]],
    last: int,
) -> None:
    told_scores = iter(scores)

    def validate(model: Any, data: Any, step: int) -> Validation:
        loss, score = next(told_scores, (99.0, 0.0))
        return Validation(step, loss, {"bleu": score, "chrf": score})

    monkeypatch.setattr(judge, "validate", validate)
    settings = ("train.eval_every=2", f"train.metric={metric}", "train.average=1")
    recipe = tiny(*settings, "train.patience=2")
    end = first(Finished, training_run(recipe, tmp_path))
    assert (end.step, end.early) == (last, True)
    assert Run(tmp_path).checkpoints()[-1] == Run(tmp_path).checkpoint_path(last)
    (note,) = training_run(recipe, tmp_path)
    assert isinstance(note, Note)
    assert "train.patience" in note.text
    # More patience goes on from there.
    events = training_run(tiny(*settings, "train.patience=3"), tmp_path)
    with closing(events):
        assert first(Resumed, events) == Resumed(last)
        assert first(StepReport, events).step == last + 1


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tiny: Tiny, copy: Path) -> None:
    run = Run(copy)
    (copy / "run.json").unlink()
    whole = digest(load_checkpoint(run, run.checkpoint_path(24))[0], {})
    model = run.model_path.read_bytes()
    damage(run.checkpoint_path(24))
    events = list(training_run(tiny(), copy))
    warnings = [note.text for note in all_of(Note, events) if note.warning]
    assert len(warnings) == 1
    assert "step-00000024.safetensors: damaged" in warnings[0]
    assert "step 18 is used" in warnings[0]
    assert "\n" not in warnings[0]
    assert first(Resumed, events) == Resumed(18)
    # The same updates once more give the same weights; the damaged file is set aside.
    assert digest(load_checkpoint(run, run.checkpoint_path(24))[0], {}) == whole
    assert run.model_path.read_bytes() == model
    assert (run.training / "step-00000024.damaged").exists()


def test_when_all_checkpoints_are_damaged_nothing_is_overwritten(tiny: Tiny, copy: Path) -> None:
    run = Run(copy)
    (copy / "run.json").unlink()
    for path in run.checkpoints():
        damage(path)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    for _ in range(2):  # nor by those who try again
        with pytest.raises(RunError) as raised:
            train(tiny(), copy)
        assert "step-00000024.safetensors: damaged" in str(raised.value)
        assert "--out" in str(raised.value)
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_a_damaged_checkpoint_is_left_out_of_the_average(
    tiny: Tiny, copy: Path, log_of: LogOf
) -> None:
    run = Run(copy)
    (copy / "run.json").unlink()
    damage(run.checkpoint_path(12))
    events = list(training_run(tiny(), copy))
    assert ["step-00000012" in note.text for note in all_of(Note, events) if note.warning] == [True]
    assert log_of(copy, "average")[0]["checkpoints"] == 2


def test_a_checkpoint_of_another_make_is_refused(tiny: Tiny, copy: Path) -> None:
    """Whole and with a true checksum, but not with what this version keeps."""
    (copy / "run.json").unlink()
    run = Run(copy)
    tensors, progress = load_checkpoint(run, run.checkpoint_path(24))
    for broken in ({**progress, "mood": "good"}, {}, {**progress, "position": None}):
        save_checkpoint(run, 24, tensors, broken)
        notes = all_of(Note, training_run(tiny(), copy))
        assert any("step-00000024.safetensors: not a checkpoint" in note.text for note in notes)
        (copy / "run.json").unlink()
    save_checkpoint(run, 24, {**tensors, "optimizer/exp_avg/nobody": torch.zeros(1)}, progress)
    notes = all_of(Note, training_run(tiny(), copy))
    assert any("step-00000024.safetensors: not a checkpoint" in note.text for note in notes)


def test_an_end_that_fails_is_repeated(
    tiny: Tiny, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_of: LogOf
) -> None:
    def fail(*_: Any) -> None:
        raise RunError("run.json: cannot be written")

    with monkeypatch.context() as patch:
        patch.setattr(card, "write", fail)
        with pytest.raises(RunError):
            train(tiny(), tmp_path)
    train(tiny(), tmp_path)
    assert len(log_of(tmp_path, "average")) == 1
    facts, expected = Run(tmp_path).info(), Run(finished).info()
    assert facts["averaged_checkpoints"] == expected["averaged_checkpoints"]
    assert facts["validation"] == expected["validation"]
    assert Run(tmp_path).model_path.read_bytes() == Run(finished).model_path.read_bytes()
