"""An update: what it is made of, and what happens when it is not finite."""

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch

from regard import objectives
from regard.data.batches import Batches
from regard.data.ids import IdPairs
from regard.errors import RunError
from regard.models import build
from regard.objectives import Loss
from regard.recipe import Recipe
from regard.run import Run
from regard.training import learning
from regard.training.events import Estimate, Event, Finished, Peak, Position, StepReport
from regard.training.loop import TrainingData, derived_seed, training_steps
from regard.training.optimizer import build_optimizer
from regard.training.run import train, training_run
from regard.training.state import TrainingState, part
from regard.weights import load_checkpoint

Tiny = Callable[..., Recipe]
UNTRIED = Estimate(0, 0, 0.0, 0.0, 0.0, 0, Peak(0.0, 0.0))  # by any update
LogOf = Callable[[Path, str], list[dict[str, Any]]]
Kind = TypeVar("Kind")


def first(kind: type[Kind], events: Iterable[Event]) -> Kind:
    return next(event for event in events if isinstance(event, kind))


def all_of(kind: type[Kind], events: Iterable[Event]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


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
            return Loss(loss.total + value, loss.count)  # whose gradient is finite
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

    def poisoned(model: Any, batch: Any, label_smoothing: float) -> Loss:
        nonlocal number
        number += 1
        loss = translation(model, batch, label_smoothing)
        return Loss(loss.total * (math.nan if calls(number) else 1.0), loss.count)

    monkeypatch.setattr(objectives, "translation", poisoned)
    monkeypatch.setattr(learning, "estimate", lambda *_: UNTRIED)
    monkeypatch.setattr(learning, "slices_that_fit", lambda *_: 1)


def test_skipped_updates_are_counted_and_logged(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_of: LogOf
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


def test_the_moving_average_knows_nothing_of_a_skipped_update(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would move towards weights that did not move, and its last bits would."""
    poison(monkeypatch, lambda call: call in (5, 6))  # of step 3
    recipe = tiny("train.steps=4", "train.save_every=1", "train.moving_average=0.9", "train.keep=4")
    train(recipe, tmp_path)
    run = Run(tmp_path)
    averages = [part(load_checkpoint(run, path)[0], "average/") for path in run.checkpoints()]
    unmoved = [
        all(torch.equal(before[name], after[name]) for name in before)
        for before, after in pairwise(averages)
    ]
    assert unmoved == [False, True, False]


def test_many_in_a_row_stop_with_advice(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_of: LogOf
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
        losses = [objectives.translation(model, data.batch(rows)) for rows in batches]
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
            assert mine.tolist() == theirs.tolist()
    assert position.epoch >= 2


def test_seeds_do_not_collide() -> None:
    seeds = {derived_seed(3, step, number) for step in range(300) for number in range(8)}
    assert len(seeds) == 2400
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_estimate_is_near_what_happens(tiny: Tiny, tmp_path: Path) -> None:
    events = list(training_run(tiny("train.steps=40", "train.eval_every=40"), tmp_path))
    estimate = first(Estimate, events)
    model = build(tiny().model, 300, 300)
    assert estimate.parameters == sum(p.numel() for p in model.parameters())
    assert (estimate.remark, estimate.steps) == ("vocabulary 300", 40)
    epoch = len(training_data(tmp_path, tiny()).batches.epoch(0))
    assert estimate.passes == 40 * 2 / epoch  # two batches an update
    assert 2**26 < estimate.memory_bytes < 2**34
    seconds = first(Finished, events).seconds
    assert seconds / 10 < estimate.seconds < seconds * 10


def test_the_estimate_teaches_nothing(
    tiny: Tiny, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "estimate", lambda *_: UNTRIED)
    train(tiny(), tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == (
        (finished / "model.safetensors").read_bytes()
    )
