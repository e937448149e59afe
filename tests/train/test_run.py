"""What a training run promises beside being resumable."""

import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
import torch

from regard import objectives
from regard.checkpoint import Run, digest, read_tensors
from regard.data.batches import Batches
from regard.data.ids import IdPairs
from regard.errors import DataError, RunError
from regard.evaluate.validation import Validation
from regard.models import build
from regard.objectives import Loss
from regard.recipe import Recipe
from regard.train import judge
from regard.train import run as run_module
from regard.train.events import DataReady, Estimate, Event, Finished, Note, Resumed, Saved
from regard.train.loop import Position, StepReport, TrainingData, derived_seed, training_steps
from regard.train.optimizer import build_optimizer
from regard.train.prepare import Split
from regard.train.run import train, training_run
from regard.train.state import TrainingState

Tiny = Callable[..., Recipe]
Kind = TypeVar("Kind")


def first(kind: type[Kind], events: Iterable[Event]) -> Kind:
    return next(event for event in events if isinstance(event, kind))


def all_of(kind: type[Kind], events: Iterable[Event]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


def log_of(folder: Path, event: str) -> list[dict[str, Any]]:
    lines = (folder / "log.jsonl").read_text("utf-8").splitlines()
    return [entry for line in lines if (entry := strict_json(line))["event"] == event]


def strict_json(text: str) -> dict[str, Any]:
    """As other languages read it: without Python's NaN and Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    entry: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return entry


@pytest.fixture(scope="module")
def finished(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; copy it before changing anything."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    train(tiny(), folder)
    return folder


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "copy")
    return tmp_path / "copy"


# Updates that are not finite


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("where", ["loss", "gradient", "one gradient of many"])
def test_an_update_that_is_not_finite_changes_nothing(
    tiny: Tiny, finished: Path, where: str, value: float
) -> None:
    """The parameters and the optimizer are the same bits after it, and the next update counts."""
    recipe = tiny("train.accumulate=1")
    data = training_data(finished, recipe)
    torch.manual_seed(0)
    model = build(recipe.model, 300, 300).train()
    state = TrainingState(model, recipe.train)
    poisoned_step = 3

    def objective(model: Any, batch: Any) -> Loss:
        loss = objectives.translation(model, batch, 0.1)
        if len(reports) + 1 != poisoned_step:
            return loss
        if where == "loss":
            return Loss(loss.total * value, loss.count)
        if where == "gradient":
            return Loss(PoisonedGradient.apply(loss.total, value), loss.count)
        weight = model.output.weight[7, 3]
        return Loss(loss.total + PoisonedGradient.apply(weight, value), loss.count)

    reports: list[StepReport] = []
    contents = []
    steps = training_steps(model, state.optimizer, objective, data, recipe.train, 3, Position())
    for _ in range(4):
        reports.append(next(steps))
        contents.append({name: tensor.clone() for name, tensor in state.tensors().items()})
    assert [report.skipped for report in reports] == [False, False, True, False]
    before, after, later = contents[1:]
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(torch.isfinite(tensor).all() for tensor in later.values())
    assert not all(torch.equal(after[name], later[name]) for name in after)


class PoisonedGradient(torch.autograd.Function):
    """The identity, whose gradient is not finite."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, value: float) -> torch.Tensor:
        ctx.value = value
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return torch.full_like(gradient, ctx.value), None


def training_data(folder: Path, recipe: Recipe) -> TrainingData:
    pairs = IdPairs.open(folder / "training" / "data", "train")
    lengths = pairs.source_lengths, pairs.target_lengths
    return TrainingData(pairs, Batches(*lengths, recipe.train.batch_tokens, recipe.seed))


def poison(monkeypatch: pytest.MonkeyPatch, calls: Callable[[int], bool]) -> None:
    """NaN for the chosen calls of the objective; two calls make an update."""
    translation, number = objectives.translation, 0

    def poisoned(model: Any, batch: Any, smoothing: float) -> Loss:
        nonlocal number
        number += 1
        loss = translation(model, batch, smoothing)
        return Loss(loss.total * (math.nan if calls(number) else 1.0), loss.count)

    monkeypatch.setattr(objectives, "translation", poisoned)
    monkeypatch.setattr(run_module, "estimate", lambda *_: Note("no trial updates"))


def test_skipped_updates_are_counted_and_logged(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(monkeypatch, lambda call: call in (5, 6, 14))  # of steps 3 and 7
    recipe = tiny("train.steps=10", "train.log_every=100")
    reports = all_of(StepReport, training_run(recipe, tmp_path))
    assert [report.step for report in reports if report.skipped] == [3, 7]
    logged = log_of(tmp_path, "step")
    assert [(entry["step"], entry["skipped"]) for entry in logged] == [
        *((1, False), (3, True), (7, True))
    ]
    assert [entry["loss"] is None for entry in logged] == [False, True, True]
    assert Run(tmp_path).info()["skipped_updates"] == 2


def test_many_in_a_row_stop_with_advice(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(monkeypatch, lambda call: call in (5, 9) or call > 15)  # steps 3, 5, and from 8 on
    recipe = tiny("train.max_skipped=4")
    with pytest.raises(RunError) as raised:
        train(recipe, tmp_path)
    text = str(raised.value)
    assert "4 updates in a row" in text
    assert "train.learning_rate" in text
    assert "\n" not in text
    assert [entry["step"] for entry in log_of(tmp_path, "step") if entry["skipped"]] == [
        *(3, 5, 8, 9, 10, 11)
    ]
    # What was learned before is still there.
    assert [path.stem for path in Run(tmp_path).checkpoints()] == ["step-00000006"]


def test_a_validation_that_is_not_finite_is_beaten_by_any_other() -> None:
    burst, fine = Validation(1, math.nan, 9.0, 9.0, ()), Validation(2, 5.0, 1.0, 1.0, ())
    for metric in ("loss", "bleu", "chrf"):
        assert judge.better(fine, burst, metric)
        assert not judge.better(burst, fine, "loss")


# Starting again


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        ("seed=4", "seed"),
        ("train.learning_rate=0.02", "train.learning_rate"),
        ("train.accumulate=3", "train.accumulate"),
        ("model.dropout=0.1", "model.dropout"),
        ("model.d_ff=64", "model.d_ff"),
        ("tokenizer.vocabulary_size=400", "tokenizer.vocabulary_size"),
        ('data.train=["valid.xx", "valid.yy"]', "data.train"),
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
    before, after = (run.load_checkpoint(run.checkpoint_path(step))[0] for step in (24, 30))
    assert not any(torch.equal(before[name], after[name]) for name in before)


def test_fewer_steps_than_are_done_end_the_run(tiny: Tiny, tmp_path: Path) -> None:
    """Before the first validation there is no best; what is there is judged and kept."""
    with closing(training_run(tiny("train.eval_every=20"), tmp_path)) as events:
        first(Saved, events)
    events = list(training_run(tiny("train.eval_every=20", "train.steps=4"), tmp_path))
    assert first(Finished, events).step == 6
    assert first(Validation, events).step == 6
    assert Run(tmp_path).model_path.exists()


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


def told(losses: Iterator[float], average: float) -> Callable[..., Validation]:
    """A stand-in for validation; weights at a step seen before are the average."""
    seen: set[int] = set()

    def validate(model: Any, data: Any, step: int, batch_tokens: int) -> Validation:
        loss = average if step in seen else next(losses)
        seen.add(step)
        return Validation(step, loss, 1.0, 1.0, ())

    return validate


def test_a_finished_run_without_checkpoints_is_not_begun_anew(tiny: Tiny, copy: Path) -> None:
    for path in Run(copy).checkpoints():
        path.unlink()
    kept = Run(copy).model_path.read_bytes()
    with pytest.raises(RunError, match="without checkpoints"):
        train(tiny("train.steps=30"), copy)
    assert Run(copy).model_path.read_bytes() == kept


# Damaged checkpoints


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tiny: Tiny, copy: Path) -> None:
    run = Run(copy)
    (copy / "run.json").unlink()
    whole = digest(run.load_checkpoint(run.checkpoint_path(24))[0], {})
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
    assert digest(run.load_checkpoint(run.checkpoint_path(24))[0], {}) == whole
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


def test_a_damaged_checkpoint_is_left_out_of_the_average(tiny: Tiny, copy: Path) -> None:
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
    tensors, progress = run.load_checkpoint(run.checkpoint_path(24))
    for broken in ({**progress, "mood": "good"}, {}, {**progress, "position": None}):
        run.save_checkpoint(24, tensors, broken)
        notes = all_of(Note, training_run(tiny(), copy))
        assert any("step-00000024.safetensors: not a checkpoint" in note.text for note in notes)
        (copy / "run.json").unlink()
    run.save_checkpoint(24, {**tensors, "optimizer/exp_avg/nobody": torch.zeros(1)}, progress)
    notes = all_of(Note, training_run(tiny(), copy))
    assert any("step-00000024.safetensors: not a checkpoint" in note.text for note in notes)


# What is kept


def test_the_last_checkpoints_and_the_best_weights_are_kept(tiny: Tiny, tmp_path: Path) -> None:
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
    checkpoint = run.load_checkpoint(run.checkpoint_path(12))[0]
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
    parts = [run.load_checkpoint(path)[0] for path in run.checkpoints()[-3:]]
    for name, tensor in read_tensors(run.model_path)[0].items():
        total = sum(part[f"{prefix}/{name}"].double() for part in parts)
        torch.testing.assert_close(tensor.double(), total / 3, rtol=1e-6, atol=1e-7)
        assert not torch.equal(tensor, parts[-1][f"{prefix}/{name}"])


@pytest.mark.parametrize(
    ("metric", "scores", "last"),
    [
        ("loss", [(5.0, 1.0), (4.0, 1.0), (4.0, 9.0), (4.5, 9.0), (1.0, 0.0)], 8),
        ("bleu", [(5.0, 1.0), (4.0, 1.0), (4.0, 9.0), (4.5, 8.0), (1.0, 9.0)], 10),
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

    def validate(model: Any, data: Any, step: int, batch_tokens: int) -> Validation:
        loss, score = next(told_scores, (99.0, 0.0))
        return Validation(step, loss, score, score, ())

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


# An update


def test_accumulated_batches_make_one_gradient(tiny: Tiny, finished: Path) -> None:
    """The update of two batches is that of their summed losses over their joint tokens."""
    recipe = tiny("model.dropout=0", "model.attention_dropout=0", "train.clip_norm=0")
    data = training_data(finished, recipe)
    results = []
    for together in (True, False):
        torch.manual_seed(0)
        model = build(recipe.model, 300, 300).double().train()
        optimizer = build_optimizer(model, recipe.train)
        if together:
            report = next(
                training_steps(
                    *(model, optimizer, objectives.translation, data, recipe.train, 3, Position())
                )
            )
            results.append((report.loss, report.grad_norm, model))
            continue
        batches, _ = data.next(Position(), 2)
        losses = [objectives.translation(model, batch) for batch in batches]
        total = sum(loss.total for loss in losses) / sum(loss.count for loss in losses)
        total.backward()
        norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
        for group in optimizer.param_groups:
            group["lr"] = 0.0025
        optimizer.step()
        results.append((float(total.detach()), float(norm), model))
    (loss, norm, model), (other_loss, other_norm, other) = results
    assert loss == pytest.approx(other_loss, rel=1e-12)
    assert norm == pytest.approx(other_norm, rel=1e-12)
    for mine, theirs in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-9)


def test_a_batch_is_the_same_wherever_one_begins(tiny: Tiny, finished: Path) -> None:
    data = training_data(finished, tiny())
    whole, _ = data.next(Position(), 30)
    position = Position()
    for start in range(0, 30, 3):
        part, position = training_data(finished, tiny()).next(position, 3)
        for mine, theirs in zip(part, whole[start : start + 3], strict=True):
            assert torch.equal(mine.source, theirs.source)
            assert torch.equal(mine.labels, theirs.labels)
    assert position.epoch >= 2


def test_seeds_do_not_collide() -> None:
    seeds = {derived_seed(3, step, number) for step in range(300) for number in range(8)}
    assert len(seeds) == 2400
    assert all(0 <= seed < 2**63 for seed in seeds)


# What is told


def test_the_estimate_is_near_what_happens(tiny: Tiny, tmp_path: Path) -> None:
    events = list(training_run(tiny("train.steps=40", "train.eval_every=40"), tmp_path))
    estimate = first(Estimate, events)
    model = build(tiny().model, 300, 300)
    assert estimate.parameters == sum(p.numel() for p in model.parameters())
    assert (estimate.vocabulary, estimate.steps) == (300, 40)
    assert estimate.batches_per_epoch == len(training_data(tmp_path, tiny()).batches.epoch(0))
    assert 2**26 < estimate.memory_bytes < 2**34
    seconds = first(Finished, events).seconds
    assert seconds / 10 < estimate.seconds < seconds * 10


def test_the_estimate_teaches_nothing(
    tiny: Tiny, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "estimate", lambda *_: Note("no trial updates"))
    train(tiny(), tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == (
        (finished / "model.safetensors").read_bytes()
    )


def test_the_log_is_made_of_json_lines(finished: Path) -> None:
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


def test_the_card_and_the_facts_agree(tiny: Tiny, finished: Path) -> None:
    info = strict_json((finished / "run.json").read_text("utf-8"))
    card = (finished / "README.md").read_text("utf-8")
    assert info["languages"] == ["xx", "yy"]
    assert "xx → yy" in card
    assert f"{info['parameters']:,} parameters" in card
    assert f"perplexity {info['validation']['perplexity']:.2f}" in card
    assert info["tokens"] == sum(entry["tokens"] for entry in log_of(finished, "step"))
    # The folder repeats the run.
    assert Run(finished).recipe() == tiny()


def test_too_little_space_is_refused(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(total=10**9, used=10**9 - 1000, free=100_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(RunError, match="MB free on this disk") as raised:
        train(tiny(), tmp_path)
    assert str(tmp_path) in str(raised.value)
    assert not Run(tmp_path).checkpoints()


def test_a_log_that_cannot_be_written_is_a_sentence(tiny: Tiny, tmp_path: Path) -> None:
    with closing(training_run(tiny(), tmp_path)) as events:
        first(Saved, events)
        (tmp_path / "log.jsonl").unlink()
        (tmp_path / "log.jsonl").mkdir()
        with pytest.raises(RunError, match=r"log\.jsonl: cannot be written"):
            list(events)


def test_tensorboard_has_the_scalars(tiny: Tiny, tmp_path: Path) -> None:
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


# Data


def test_the_split_is_the_same_each_time_and_leaks_nothing(tiny: Tiny, corpus: Path) -> None:
    split = Split.of(tiny("data.held_out_share=0.2"), 200)
    train_pairs, valid = list(split.train()), list(split.valid())
    assert train_pairs == list(split.train())
    assert valid == list(split.valid())
    assert 20 < len(valid) < 60
    assert len(train_pairs) + len(valid) == 200
    assert not {pair.source for pair in train_pairs} & {pair.source for pair in valid}
    other = list(Split.of(tiny("data.held_out_share=0.2", "seed=4"), 200).valid())
    assert {pair.source for pair in other} != {pair.source for pair in valid}


def test_a_sentence_that_occurs_twice_stays_on_one_side(tiny: Tiny, tmp_path: Path) -> None:
    sources = [f"{number % 50}" for number in range(1000)]
    (tmp_path / "a.xx").write_text("".join(f"{text}\n" for text in sources))
    (tmp_path / "a.yy").write_text("".join(f"{n} {text}\n" for n, text in enumerate(sources)))
    recipe = tiny(f'data.folder="{tmp_path}"', 'data.train=["a.xx", "a.yy"]')
    split = Split.of(recipe, 1000)
    assert not {pair.source for pair in split.train()} & {pair.source for pair in split.valid()}


def test_given_validation_files_are_used_and_nothing_is_held_out(
    tiny: Tiny, finished: Path, tmp_path: Path
) -> None:
    recipe = tiny('data.valid=["valid.xx", "valid.yy"]')
    with closing(training_run(recipe, tmp_path)) as events:
        ready = first(DataReady, events)
    assert (ready.train_pairs, ready.valid_pairs) == (200, 20)
    with closing(training_run(tiny(), tmp_path / "held out")) as events:
        ready = first(DataReady, events)
    assert ready.train_pairs + ready.valid_pairs == 200
    assert ready.valid_report is not None
    assert ready.valid_report.total == ready.valid_pairs > 0
    with closing(training_run(tiny(), tmp_path / "held out")) as events:
        assert first(DataReady, events).train_report is None  # encoded by the start before


def prepare(tiny: Tiny, folder: Path, sources: bytes, targets: bytes) -> DataReady:
    folder.mkdir(exist_ok=True)
    (folder / "a.xx").write_bytes(sources)
    (folder / "a.yy").write_bytes(targets)
    recipe = tiny(f'data.folder="{folder}"', 'data.train=["a.xx", "a.yy"]')
    with closing(training_run(recipe, folder / "run")) as events:
        return first(DataReady, events)


def test_bad_data_is_named_with_its_line(tiny: Tiny, tmp_path: Path) -> None:
    good = b"".join(b"%d %d\n" % (n, n) for n in range(60))
    cases: dict[str, tuple[bytes, bytes]] = {
        f"{tmp_path}/a.xx:61: not valid UTF-8": (good + b"\xff\n", good + b"x\n"),
        f"{tmp_path}/a.yy: 60 lines, but {tmp_path}/a.xx has 61": (good + b"x\n", good),
        f"{tmp_path}/a.yy: the file is empty": (good, b""),
    }
    for text, (sources, targets) in cases.items():
        with pytest.raises(DataError) as raised:
            prepare(tiny, tmp_path, sources, targets)
        assert str(raised.value).startswith(text)
        assert "\n" not in str(raised.value)
    # Put right, the same folder is used.
    assert prepare(tiny, tmp_path, good, good).train_pairs > 40


def test_so_few_pairs_that_none_is_held_out(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no pair was held out") as raised:
        prepare(tiny, tmp_path, b"a\n", b"b\n")
    assert "--valid" in str(raised.value)


def test_a_line_of_a_megabyte_does_not_end_a_run(tiny: Tiny, corpus: Path, tmp_path: Path) -> None:
    """Neither among the pairs to learn from nor among those to translate for validation."""
    long = "7 " * 500_000
    for name in ("train", "valid"):
        for side in ("xx", "yy"):
            text = (corpus / f"{name}.{side}").read_text()
            (tmp_path / f"{name}.{side}").write_text(f"{long}\n{text}")
    recipe = tiny(
        f'data.folder="{tmp_path}"',
        'data.valid=["valid.xx", "valid.yy"]',
        "train.steps=3",
        "train.eval_sentences=20",
    )
    events = list(training_run(recipe, tmp_path / "run"))
    ready = first(DataReady, events)
    assert (ready.train_pairs, ready.valid_pairs) == (200, 20)
    for report in (ready.train_report, ready.valid_report):
        assert report is not None
        assert [(drop.reason, drop.count) for drop in report.dropped] == [("too long", 1)]
        assert report.dropped[0].places[0].endswith(".xx:1")
    # Line 2 is the first that was translated: nothing has shifted.
    sample = first(Validation, events).samples[0]
    assert sample.source == (corpus / "valid.xx").read_text().splitlines()[0]


def test_damaged_encoded_texts_are_named(tiny: Tiny, copy: Path) -> None:
    for content in (b'{"source": 1', b'{"sauce": "x"}', b"[1]\n"):
        (copy / "training" / "data" / "valid.jsonl").write_bytes(content)
        with pytest.raises(RunError, match=r"valid\.jsonl: damaged"):
            train(tiny("train.steps=30"), copy)
    (copy / "training" / "data" / "valid.jsonl").unlink()
    assert train(tiny("train.steps=25"), copy).info()["step"] == 25
